"""Members of a consumer group go; if only classic ones stay, so does their protocol."""

from collections.abc import Collection

from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.leave import take_out
from kafkapy.group.migration.downgrade import downgrade, should_downgrade
from kafkapy.group.plan import Context


def let_go(draft: ConsumerDraft, member_ids: Collection[str], ctx: Context) -> None:
    if should_downgrade(draft.group, member_ids, ctx):
        downgrade(draft, member_ids, ctx)
    else:
        take_out(draft, member_ids, ctx)

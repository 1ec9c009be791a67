"""Which topics members' regular expressions stand for.

One resolution per distinct expression, shared by its users. It is looked up again when
topics came or went since (not more often than every 10 s), or when it is old. Topics that
the member who caused the look may not describe are left out.

Names are matched in slices of bounded work: most looks are done within the heartbeat that
wants them, a large one goes on when the group's regex timer fires, at once but after
whatever else the node has to do.
"""

from typing import Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group import timers
from kafkapy.group.consumer.draft import ConsumerDraft
from kafkapy.group.consumer.events import CanDescribe
from kafkapy.group.consumer.group import Look, RegexLooked, Resolution
from kafkapy.group.consumer.member import Profile
from kafkapy.group.consumer.stored import regex_record, regex_tombstone
from kafkapy.group.plan import Context
from kafkapy.group.regex import InvalidRegex, TopicRegex, compile_regex

# About 0.1 us each: a slice holds the loop for some 10 ms at most.
WORK_PER_SLICE: Final = 100_000
LEAST_INTERVAL_MS: Final = 10_000


def check_regex(pattern: str) -> TopicRegex:
    try:
        return compile_regex(pattern)
    except InvalidRegex as error:
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}.",
        ) from None


def resolve_for(
    profile: Profile, may_describe: CanDescribe, draft: ConsumerDraft, ctx: Context
) -> bool:
    """Look at the member's expression if that is due; whether its topics changed."""
    pattern = profile.subscribed_regex
    if pattern is None or pattern in draft.group.resolving or not _is_due(pattern, draft, ctx):
        return False
    names = tuple(sorted(ctx.topics.names()))
    return _advance(Resolution(pattern, names, 0, (), ctx.topics.version, may_describe), draft, ctx)


def go_on(draft: ConsumerDraft, ctx: Context) -> bool:
    """The regex timer: another slice of what is being resolved; whether topics changed."""
    for resolution in draft.group.resolving.values():
        return _advance(resolution, draft, ctx)
    return False


def forget_unused(draft: ConsumerDraft) -> None:
    group = draft.group
    for pattern in [one for one in group.regexes if one not in group.regex_users]:
        draft.write(regex_tombstone(group.group_id, pattern))


def _is_due(pattern: str, draft: ConsumerDraft, ctx: Context) -> bool:
    look = draft.group.looks.get(pattern)
    if look is None or pattern not in draft.group.regexes:
        return True
    age_ms = ctx.wall - look.at
    if not 0 <= age_ms < ctx.settings.consumer_regex_refresh_interval_ms:
        return True
    return look.version != ctx.topics.version and age_ms >= LEAST_INTERVAL_MS


def _advance(resolution: Resolution, draft: ConsumerDraft, ctx: Context) -> bool:
    regex = check_regex(resolution.regex)
    found = list(resolution.found)
    at = resolution.done
    enough = regex.work + WORK_PER_SLICE
    while at < len(resolution.names) and regex.work < enough:
        name = resolution.names[at]
        if regex.matches(name) and resolution.may_describe(name):
            found.append(name)
        at += 1
    if at < len(resolution.names):
        rest = Resolution(
            resolution.regex,
            resolution.names,
            at,
            tuple(found),
            resolution.version,
            resolution.may_describe,
        )
        draft.note(RegexLooked(draft.group_id, resolution.regex, resolution=rest))
        draft.plan.timers[timers.regex(draft.group_id)] = ctx.now
        return False
    return _conclude(resolution, frozenset(found), draft, ctx)


def _conclude(
    resolution: Resolution, topics: frozenset[str], draft: ConsumerDraft, ctx: Context
) -> bool:
    pattern = resolution.regex
    standing = draft.group.regexes.get(pattern)
    is_changed = standing is None or standing.topics != topics
    is_used = pattern in draft.group.regex_users
    if is_changed and is_used:
        draft.write(regex_record(draft.group_id, pattern, topics, resolution.version, ctx.wall))
    # Of one that nobody uses any more nothing is remembered: a member could make up more.
    look = Look(resolution.version, ctx.wall) if is_used else None
    draft.note(RegexLooked(draft.group_id, pattern, look))
    if draft.group.resolving:
        draft.plan.timers[timers.regex(draft.group_id)] = ctx.now
    return is_changed and is_used

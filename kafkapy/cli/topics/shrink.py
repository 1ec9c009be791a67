"""`kafkapy topics shrink`: a topic with fewer partitions, to which clients move in their own time.

    begin    a new topic with fewer partitions, and a relay that moves every record there, in the
             order of its key (docs/RELAYS.md): the old one is written and read as ever
    seal     the old one takes no new records; once the relay has moved the last, where the new
             one ends is written down, and producers go on there
    group    a group that has read the old one to its end goes on behind what was moved
    finish   the old one goes, once all of it was moved and no group needs it

Each step is made once and may be asked for again; what was done stands in the cluster: settings,
the relay's offsets, and those of the group `kafkapy-shrink.<topic>`. Why a topic does not just get
smaller: docs/decisions/0009-topics-do-not-shrink-in-place.md.
"""

import argparse
import time
from typing import Any, Final

from kafkapy.cli.arguments import INT32, seconds
from kafkapy.cli.client import Client, check, check_all
from kafkapy.cli.finding import GROUP, coordinator, each_broker
from kafkapy.cli.groups.asking import (
    commit_offsets,
    committed_offsets,
    described_group,
    group_type,
)
from kafkapy.cli.main import Failed
from kafkapy.cli.output import show
from kafkapy.cli.topics.consume import consumed
from kafkapy.cli.topics.shrink_checks import (
    GROUP_PREFIX,
    RELAY_TO,
    check_whole,
    left_to_move,
    relay_places,
    share_groups,
)
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import build_batch
from kafkapy.protocol.batches.records import NewRecord

TOPIC_RESOURCE: Final = 2
_OWN: Final = 1  # the source of a setting: the topic's own
_SET: Final = 0
_START, _END = -2, -1
_TIMEOUT_MS: Final = 60_000
MARK_PREFIX: Final = "kafkapy-shrink."
# As the broker calls them; it is not imported for that.
SEALED: Final = "kafkapy.sealed"
FOLLOWS_SHARE_GROUPS: Final = "kafkapy.retention.follows.share.groups"
_PRODUCE_HOOK: Final = "kafkapy.hook.produce"
# The last byte of a batch's CRC: one that is wrong is refused in any case, by who writes too.
_CRC_AT: Final = 20
_LOOK_SECONDS: Final = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic")
    parser.add_argument(
        "--into", required=True, metavar="TOPIC", help="the topic with fewer partitions"
    )
    parser.add_argument(
        "--partitions", type=INT32, help="how many the new topic gets; must divide the old number"
    )
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument(
        "--seal",
        action="store_true",
        help="refuse new records in the old topic, and wait until all are moved",
    )
    steps.add_argument(
        "--group",
        action="append",
        help="move the offsets of this stopped group to the new topic; may be repeated",
    )
    steps.add_argument("--finish", action="store_true", help="delete the old topic")
    parser.add_argument(
        "--view",
        action="store_true",
        help="with --finish: keep the old name, for readers, as a view of the new topic",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long to wait (default 60)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    with Client(options.server) as client:
        shrinking = _Shrinking(client, options)
        if options.view and not options.finish:
            raise Failed("--view is for --finish")
        if options.seal:
            shrinking.seal(options.timeout)
        elif options.group:
            for group in options.group:
                shrinking.move(group)
        elif options.finish:
            shrinking.finish(keeps_name=options.view)
            return 0
        elif not shrinking.has_begun:
            shrinking.begin(options.partitions)
        rows = shrinking.rows()
    show(rows, as_json=options.json)
    return 0


class _Shrinking:
    def __init__(self, client: Client, options: argparse.Namespace) -> None:
        self._client = client
        self._server: str = options.server
        self._old: str = options.topic
        self._new: str = options.into
        self._partitions = client.partitions(self._old)
        self._settings = self._own_settings(self._old)
        target = self._settings.get(RELAY_TO)
        if target not in (None, self._new):
            raise Failed(f"{self._old} has a relay to {target} already")
        self.has_begun = target is not None

    # --- begin ---

    def begin(self, count: int | None) -> None:
        there = len(self._partitions)
        if count is None:
            raise Failed("--partitions is missing: how many the smaller one gets")
        if not 0 < count < there or there % count:
            possible = ", ".join(str(one) for one in range(1, there) if there % one == 0)
            raise Failed(
                f"{self._old} has {there} partitions: with a half, a third ... of them each key is "
                f"where any producer would put it. Possible: {possible or 'nothing'}"
            )
        if "compact" in self._settings.get("cleanup.policy", ""):
            raise Failed(f"{self._old} is compacted, and a topic with a relay cannot be")
        if self._settings.get(FOLLOWS_SHARE_GROUPS) == "true":
            raise Failed(
                f"{self._old} has {FOLLOWS_SHARE_GROUPS}, and a topic with a relay cannot: take it "
                "away, and set it for the smaller one in the end"
            )
        # Who has a hook sees each record once: the new one's records until it is sealed are moved.
        settings = {
            name: value
            for name, value in self._settings.items()
            if name not in (_PRODUCE_HOOK, SEALED)
        }
        if not self._is_made(count):
            self._create(self._new, count, self._replicas(), settings)
        self._alter(self._old, {RELAY_TO: self._new})
        self._settings = self._own_settings(self._old)

    def _is_made(self, count: int) -> bool:
        """Whether the new one is there: this command may have been interrupted."""
        (row,) = self._client.metadata([self._new]).topics
        if row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return False
        check(row.error_code, f"topic {self._new}")
        indexes = [one.partition_index for one in row.partitions]
        if len(indexes) != count:
            raise Failed(f"{self._new} exists, with {len(indexes)} partitions")
        if any(self._client.offsets(self._new, dict.fromkeys(indexes, _END)).values()):
            raise Failed(f"{self._new} exists, and has had records")
        return True

    def _replicas(self) -> int:
        (row,) = self._client.metadata([self._old]).topics
        return len(row.partitions[0].replica_nodes)

    # --- seal ---

    def seal(self, timeout: float) -> None:
        self._check_begun()
        until = time.monotonic() + timeout
        was_sealed = self._settings.get(SEALED) == "true"
        self._alter(self._old, {SEALED: "true"})
        while not self._is_sealed_everywhere():
            self._wait(until, "all leaders to know that it is sealed")
        while (left := self._not_moved()) > 0:
            self._wait(until, f"the relay to move {left} more")
        self._check_whole()
        if was_sealed and self._marks():
            return
        if _PRODUCE_HOOK in self._settings:
            self._alter(self._new, {_PRODUCE_HOOK: self._settings[_PRODUCE_HOOK]})
        ends = self._client.offsets(
            self._new, dict.fromkeys(self._client.partitions(self._new), _END)
        )
        marks = {(self._new, index): offset for index, offset in ends.items()}
        with coordinator(self._server, GROUP, self._mark_group) as client:
            commit_offsets(client, self._mark_group, marks)

    def _is_sealed_everywhere(self) -> bool:
        """Asked with a batch that nobody would take: its CRC is wrong."""
        batch = bytearray(build_batch([NewRecord()]))
        batch[_CRC_AT] ^= 0xFF
        for leader, indexes in self._client.leaders(self._old, self._partitions):
            rows = [{"index": index, "records": bytes(batch)} for index in indexes]
            topic = {"name": self._old, "partition_data": rows}
            body = {"transactional_id": None, "acks": -1, "timeout": 1000, "topic_data": [topic]}
            (answered,) = leader.ask(ApiKey.PRODUCE, body).responses
            codes = {row.error_code for row in answered.partition_responses}
            if codes != {ErrorCode.POLICY_VIOLATION}:
                self._client.forget_leaders(self._old)
                return False
        return True

    def _not_moved(self) -> int:
        places = relay_places(self._client, self._server, self._old, self._new)
        return sum(left_to_move(places, self._at(_START), self._at(_END)).values())

    def _check_whole(self) -> None:
        places = relay_places(self._client, self._server, self._old, self._new)
        check_whole(self._old, self._settings, places, self._at(_START))

    def _at(self, timestamp: int) -> dict[int, int]:
        """Offsets of the old one."""
        return self._client.offsets(self._old, dict.fromkeys(self._partitions, timestamp))

    def _wait(self, until: float, what: str) -> None:
        if time.monotonic() > until:
            raise Failed(f"still waiting for {what}: ask again, or give more --timeout")
        time.sleep(_LOOK_SECONDS)

    @property
    def _mark_group(self) -> str:
        return f"{MARK_PREFIX}{self._old}"

    def _marks(self) -> dict[tuple[str, int], int]:
        """Where the smaller topic ended when everything had been moved; nothing before that."""
        with coordinator(self._server, GROUP, self._mark_group) as client:
            found = committed_offsets(client, self._mark_group)
        return {where: offset for where, offset in found.items() if where[0] == self._new}

    # --- groups ---

    def move(self, group: str) -> None:
        marks = self._check_sealed()
        if group in share_groups(self._server, self._old):
            raise Failed(
                f"{group} is a share group: kafka-share-groups says where it begins in {self._new}"
            )
        with coordinator(self._server, GROUP, group) as client:
            if group_type(client, group) == "streams":
                raise Failed(
                    f"{group} is a streams group: its tasks and stores have as many partitions as "
                    f"{self._old}. Once it has read that, start the application with another "
                    f"application.id on {self._new}, and delete {group}"
                )
            if described_group(client, group).members:
                raise Failed(f"group {group} is active: stop its members first")
            places = committed_offsets(client, group)
            if self._is_placed(places):
                return
            left = self._unread(places)
            if left:
                which = ", ".join(map(str, left))
                raise Failed(
                    f"group {group} has not read {self._old} to its end: "
                    f"there are unread records in partition {which}"
                )
            commit_offsets(client, group, marks)

    def _unread(self, places: dict[tuple[str, int], int]) -> list[int]:
        """Partitions with records that the group has not committed; those of aborted transactions
        and their markers are none."""
        starts, ends = self._at(_START), self._at(_END)
        asked = dict.fromkeys(self._partitions, _END)
        stable = self._client.offsets(self._old, asked, committed=True)
        positions = {
            index: max(places.get((self._old, index), 0), starts[index])
            for index in self._partitions
        }
        # What may still be committed is unread too; nobody waits here for its transaction.
        undecided = {at for at, end in ends.items() if max(stable[at], positions[at]) < end}
        how = argparse.Namespace(topic=self._old, committed=True)
        return sorted(
            undecided | {index for index, _ in consumed(self._client, how, positions, stable)}
        )

    def _is_placed(self, places: dict[tuple[str, int], int]) -> bool:
        return any(topic == self._new for topic, _ in places)

    def _groups(self) -> dict[str, dict[tuple[str, int], int]]:
        """Those that have read the old one, with all their offsets."""
        found = {}
        for _, broker in each_broker(self._server):
            answer = broker.ask(ApiKey.LIST_GROUPS, {"states_filter": [], "types_filter": []})
            check(answer.error_code, "listing groups")
            for one in answer.groups:
                if one.group_type == "share" or one.group_id.startswith(
                    (GROUP_PREFIX, MARK_PREFIX)
                ):
                    continue
                with coordinator(self._server, GROUP, one.group_id) as client:
                    places = committed_offsets(client, one.group_id)
                if any(topic == self._old for topic, _ in places):
                    found[one.group_id] = places
        return found

    # --- finish ---

    def finish(self, *, keeps_name: bool) -> None:
        self._check_sealed()
        if self._settings.get(SEALED) != "true":
            raise Failed(f"{self._old} takes records again: --seal it once more")
        left = self._not_moved()
        if left:
            raise Failed(f"the relay has {left} more to move to {self._new}")
        self._check_whole()
        behind = sorted(group for group, at in self._groups().items() if not self._is_placed(at))
        if behind:
            raise Failed(
                f"groups that are not in {self._new} yet: {', '.join(behind)}; move them with "
                "--group, or delete those that nobody needs (kafkapy groups delete)"
            )
        shares = share_groups(self._server, self._old).items()
        working = sorted(group for group, places in shares if self._unread(places))
        if working:
            raise Failed(
                f"share groups that are not done with {self._old}: {', '.join(working)}; wait for "
                "them, or delete their offsets (kafka-share-groups --delete-offsets)"
            )
        answer = self._client.ask(
            ApiKey.DELETE_TOPICS,
            {"topics": [{"name": self._old, "topic_id": None}], "timeout": _TIMEOUT_MS},
        )
        check_all(
            (one.error_code, f"topic {one.name}", one.error_message) for one in answer.responses
        )
        if keeps_name:
            view = {"kafkapy.view.of": self._new, "kafkapy.view.where": "true"}
            self._create(self._old, -1, -1, view)

    # --- what is there ---

    def rows(self) -> list[dict[str, Any]]:
        """Who is where: the relay first."""
        is_sealed = bool(self._marks())
        rows: list[dict[str, Any]] = [
            {
                "who": "the relay",
                "left to do": self._not_moved(),
                "state": f"all is in {self._new}: producers write there" if is_sealed else "moves",
            }
        ]
        ends = self._at(_END)
        for group, places in sorted(self._groups().items()):
            left = sum(max(end - places.get((self._old, at), 0), 0) for at, end in ends.items())
            is_placed = self._is_placed(places)
            state = f"is in {self._new}" if is_placed else f"reads {self._old}"
            rows.append({"who": group, "left to do": 0 if is_placed else left, "state": state})
        for group, places in sorted(share_groups(self._server, self._old).items()):
            unread = self._unread(places)
            left = sum(max(ends[at] - places.get((self._old, at), 0), 0) for at in unread)
            state = f"shares {self._old}" if unread else f"is done with {self._old}"
            rows.append({"who": group, "left to do": left, "state": state})
        return rows

    def _check_begun(self) -> None:
        if not self.has_begun:
            raise Failed(f"{self._old} is not being shrunk: give --partitions first")

    def _check_sealed(self) -> dict[tuple[str, int], int]:
        self._check_begun()
        marks = self._marks()
        if not marks:
            raise Failed(f"{self._old} still takes records: --seal comes first")
        return marks

    # --- settings ---

    def _own_settings(self, topic: str) -> dict[str, str]:
        asked = {
            "resource_type": TOPIC_RESOURCE,
            "resource_name": topic,
            "configuration_keys": None,
        }
        answer = self._client.ask(ApiKey.DESCRIBE_CONFIGS, {"resources": [asked]})
        (found,) = answer.results
        check(found.error_code, f"topic {topic}", found.error_message)
        return {one.name: one.value or "" for one in found.configs if one.config_source == _OWN}

    def _alter(self, topic: str, settings: dict[str, str]) -> None:
        changes = [
            {"name": name, "config_operation": _SET, "value": value}
            for name, value in settings.items()
        ]
        resource = {"resource_type": TOPIC_RESOURCE, "resource_name": topic, "configs": changes}
        body = {"resources": [resource], "validate_only": False}
        (done,) = self._client.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body).responses
        check(done.error_code, f"topic {topic}", done.error_message)

    def _create(self, topic: str, count: int, replicas: int, settings: dict[str, str]) -> None:
        asked = {
            "name": topic,
            "num_partitions": count,
            "replication_factor": replicas,
            "assignments": [],
            "configs": [{"name": name, "value": value} for name, value in settings.items()],
        }
        body = {"topics": [asked], "timeout": _TIMEOUT_MS, "validate_only": False}
        (made,) = self._client.ask(ApiKey.CREATE_TOPICS, body).topics
        check(made.error_code, f"topic {topic}", made.error_message)

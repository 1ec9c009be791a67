"""The worlds check themselves: clusters with one lie built in, each of which must be caught.

A mutant replaces one thing in all nodes. Each is hunted with the troubles and clients that bring it
out, for so many seeds at most; more than were needed when it was written.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from kafkapy.broker.fetch import reading
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.replication import fetcher
from kafkapy.broker.replication.followers import Followers
from kafkapy.broker.transactions.marker_writer import MarkerWriter
from kafkapy.core.errors import ErrorCode
from kafkapy.core.turn import Turn
from kafkapy.kraft import metadata_quorum
from kafkapy.kraft.controller.partitions.partition_change import PartitionChange
from kafkapy.kraft.image.as_records import records_of
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log import snapshotting
from kafkapy.kraft.quorum.prospective import Prospective
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.unattached import Unattached
from kafkapy.kraft.records.metadata import MetadataRecord
from kafkapy.log import recovery
from kafkapy.log.history import History
from kafkapy.log.partition_log import PartitionLog
from kafkapy.runtime.runtime import Runtime
from kafkapy.sim.cluster.network import USUAL, Latency
from kafkapy.sim.cluster.plan import Plan
from kafkapy.sim.cluster.world import COMBINED
from kafkapy.sim.runs.cluster import ClusterFailed, run_plan

Mutant = Callable[[pytest.MonkeyPatch], None]


# The quorum.


def votes_twice(patch: pytest.MonkeyPatch) -> None:
    """Whoever asks with a log that is long enough has this vote, too."""

    def grants(role: object, candidate: object, *, is_pre_vote: bool, is_up_to_date: bool) -> bool:
        return is_up_to_date

    for role in (Unattached, Prospective):
        patch.setattr(role, "grants", grants)


def votes_without_writing_it_down(patch: pytest.MonkeyPatch) -> None:
    """Who starts knows of no epoch and no vote but what its log says."""
    patch.setattr(metadata_quorum, "read_quorum_state", lambda *_: ElectionState())


def answers_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Controller and coordinators say what they decided as soon as it is appended."""

    def answer(runtime: Runtime[Any, Any], answers: Any, uncommitted: Any) -> None:
        for then, reply in answers:
            then(reply)
        if uncommitted is not None:
            runtime._await_commit(uncommitted)

    patch.setattr(Runtime, "_answer", answer)


def drops_a_record_of_its_snapshots(patch: pytest.MonkeyPatch) -> None:
    def all_but_the_last(image: MetadataImage) -> Iterator[MetadataRecord]:
        yield from list(records_of(image))[:-1]

    patch.setattr(snapshotting, "records_of", all_but_the_last)


# Partitions.


def acknowledges_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """acks=all is answered when the leader has it."""
    patch.setattr(Partition, "when_committed", lambda _, __, then: then(ErrorCode.NONE))


def counts_itself_alone(patch: pytest.MonkeyPatch) -> None:
    """The high watermark is the end of the leader's log."""
    patch.setattr(Followers, "committed_end", lambda _, leader_end, now: leader_end)


def cuts_whenever_it_follows(patch: pytest.MonkeyPatch) -> None:
    """As before KIP-101: who begins to follow cuts to its high watermark first."""
    follow = fetcher.ReplicaFetcher.follow

    def cut_and_follow(one: fetcher.ReplicaFetcher, partition: Partition) -> None:
        partition.log.truncate_to(partition.log.high_watermark)
        follow(one, partition)

    patch.setattr(fetcher.ReplicaFetcher, "follow", cut_and_follow)


def cuts_to_its_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """Where logs part, not where the leader's epoch ends: what is committed may lie above."""
    patch.setattr(
        fetcher, "truncation_offset", lambda log, *_: min(log.high_watermark, log.log_end_offset)
    )


def keeps_its_producers_when_it_truncates(patch: pytest.MonkeyPatch) -> None:
    """What was cut off is a duplicate if it is sent again."""

    def keep(history: History) -> None:
        history.producers.end_offset = history._offsets.log_end

    patch.setattr(History, "reload_producers", keep)


def answers_although_the_write_failed(patch: pytest.MonkeyPatch) -> None:
    def write(turn: Turn) -> None:
        turn.settle()
        lost, turn._lost = turn._lost, []
        for failure in lost:
            turn.failed(failure)

    patch.setattr(Turn, "_write", write)


def trusts_what_is_on_its_disk(patch: pytest.MonkeyPatch) -> None:
    """Recovery looks at no CRC."""
    patch.setattr(recovery, "crc_is_valid", lambda *_: True)


def compares_no_epochs(patch: pytest.MonkeyPatch) -> None:
    """A follower's fetch is taken to continue the leader's log, whatever it has."""
    patch.setattr(reading, "divergence", lambda *_: None)


def elects_anybody(patch: pytest.MonkeyPatch) -> None:
    """Whoever lives may lead, in sync or not."""

    def elected(change: PartitionChange, replicas: Any, isr: Any, elr: Any) -> tuple[int, bool]:
        state = change.state
        if state.leader in isr and change.is_acceptable(state.leader):
            return state.leader, False
        living = [one for one in reversed(replicas) if change.is_acceptable(one)]
        return (living[0] if living else -1), False

    patch.setattr(PartitionChange, "_elected", elected)


def believes_its_own_proposals(patch: pytest.MonkeyPatch) -> None:
    """The smaller ISR counts before the controller has agreed to it, and if it never does."""

    def proposed_alone(followers: Followers) -> frozenset[int]:
        return frozenset(followers.agreed if followers._proposed is None else followers._proposed)

    def refused(followers: Followers) -> None:
        if followers._proposed is not None:
            followers.agreed = tuple(followers._proposed)
            followers._proposed = None

    patch.setattr(Followers, "counted", property(proposed_alone))
    patch.setattr(Followers, "refused", refused)


def loses_a_marker(patch: pytest.MonkeyPatch) -> None:
    """One in four is not written, and answered as if it were."""
    write = MarkerWriter._write_data
    count = [0]

    def lose(writer: MarkerWriter, marker: Any, partition: Partition, then: Any) -> None:
        count[0] += 1
        if count[0] % 4:
            write(writer, marker, partition, then)
        else:
            then(ErrorCode.NONE)

    patch.setattr(MarkerWriter, "_write_data", lose)


def serves_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    """Consumers get what the leader has, also of one that does not lead any more."""
    patch.setattr(PartitionLog, "last_stable_offset", property(lambda log: log.log_end_offset))
    patch.setattr(PartitionLog, "high_watermark", property(lambda log: log.log_end_offset))


def reads_for_itself_when_it_is_stale(patch: pytest.MonkeyPatch) -> None:
    """A leader of whom no follower wants anything any more tells consumers what it has alone."""
    read = reading._read
    marks = {name: getattr(PartitionLog, name) for name in ("high_watermark", "last_stable_offset")}
    stale: set[PartitionLog] = set()

    def read_all(partition: Partition, *rest: Any) -> Any:
        followers, now = partition.followers, partition._replication.clock.now()
        heard = () if followers is None else followers.progress.values()
        if heard and not any(one.is_caught_up(1 << 62, now, 1_000) for one in heard):
            stale.add(partition.log)
        try:
            return read(partition, *rest)
        finally:
            stale.discard(partition.log)

    def end_of(name: str, log: PartitionLog) -> int:
        return log.log_end_offset if log in stale else int(marks[name].__get__(log))

    patch.setattr(reading, "_read", read_all)
    for name in marks:
        patch.setattr(PartitionLog, name, property(partial(end_of, name)))


ELECTIONS = ("kill-controller", "isolate-controller", "split", "pause", "slow-network", "kill")
FIVE = ("controller",) * 5
CHANGES = ("kill-leader", "slow-network", "pause", "break")
# Several stand at once.
HASTE = (
    ("controller.quorum.election.timeout.ms", "200"),
    ("controller.quorum.fetch.timeout.ms", "400"),
    ("controller.quorum.election.backoff.max.ms", "100"),
)
FENCED_SOON = (("broker.session.timeout.ms", "2000"), ("broker.heartbeat.interval.ms", "500"))
LEADERS = ("kill-leader", "isolate", "cut-one-way", "split", "pause", "slow-link")


class Hunt(NamedTuple):
    mutant: Mutant
    troubles: tuple[str, ...]
    clients: tuple[str, ...]
    most_seeds: int = 30
    seconds: int = 20
    flushes: bool = True
    pace_ms: int = 2_000
    roles: tuple[str, ...] = (COMBINED,) * 3
    settings: tuple[tuple[str, str], ...] = ()
    first_seed: int = 1
    latency: Latency = USUAL

    def plan(self, seed: int) -> Plan:
        return Plan(
            seed,
            self.roles,
            self.seconds,
            self.troubles,
            self.clients,
            self.pace_ms,
            flushes=self.flushes,
            more_settings=self.settings,
        )

    def run(self, seed: int) -> None:
        run_plan(self.plan(seed), lambda world: world.network.slow(self.latency))


RECORDS = ("producers", "readers")
READS = (*RECORDS, "plain", "watchers")
HUNTS = (
    Hunt(votes_twice, ELECTIONS, (), 30, 40, True, 800, FIVE, HASTE),
    Hunt(
        votes_without_writing_it_down,
        ("split", "crash-loop", "slow-network"),
        (),
        seconds=40,
        pace_ms=150,
        roles=("controller",) * 3,
        settings=HASTE,
        first_seed=2,
    ),
    Hunt(answers_before_the_commit, ELECTIONS, ("admin", "consumers"), pace_ms=1_000),
    Hunt(drops_a_record_of_its_snapshots, ("kill", "crash"), ("admin",)),
    Hunt(acknowledges_before_the_commit, LEADERS, RECORDS),
    Hunt(counts_itself_alone, LEADERS, RECORDS),
    Hunt(cuts_whenever_it_follows, CHANGES, RECORDS, flushes=False, pace_ms=300),
    # Who cut too much leads before it has fetched that again: everything takes its time.
    Hunt(
        cuts_to_its_high_watermark,
        ("kill-leaders",),
        (*("producers",) * 4, *("plain",) * 4, "readers"),
        flushes=False,
        pace_ms=2_500,
        roles=("broker",) * 3 + ("controller",),
        latency=(50, 200),
        most_seeds=40,
    ),
    Hunt(keeps_its_producers_when_it_truncates, CHANGES, RECORDS, flushes=False, pace_ms=300),
    Hunt(answers_although_the_write_failed, ("fail-disk",), RECORDS),
    Hunt(trusts_what_is_on_its_disk, ("flip-bit",), RECORDS),
    Hunt(compares_no_epochs, LEADERS, RECORDS),
    Hunt(elects_anybody, LEADERS, RECORDS),
    Hunt(believes_its_own_proposals, LEADERS, RECORDS),
    Hunt(loses_a_marker, ("break",), ("transactions",)),
    Hunt(serves_what_is_not_committed, LEADERS, READS),
    Hunt(
        reads_for_itself_when_it_is_stale,
        ("isolate", "split"),
        READS,
        seconds=40,
        pace_ms=6_000,
        settings=FENCED_SOON,
    ),
)


@pytest.mark.interpreted
@pytest.mark.parametrize("hunt", HUNTS, ids=[hunt.mutant.__name__ for hunt in HUNTS])
def test_a_cluster_with_a_lie_in_it_is_caught(hunt: Hunt, monkeypatch: pytest.MonkeyPatch) -> None:
    hunt.mutant(monkeypatch)
    for seed in range(hunt.first_seed, hunt.first_seed + hunt.most_seeds):
        try:
            hunt.run(seed)
        except ClusterFailed:
            return
    pytest.fail(f"{hunt.most_seeds} runs kept every promise, and nodes {hunt.mutant.__name__}")

"""Members of groups as actors: they join, own, commit, leave, vanish and oversleep.

    ConsumerMember   KIP-848: heartbeats, the coordinator assigns
    ClassicMember    JoinGroup, SyncGroup, Heartbeat: the leader among them assigns

Each life has a member id of its own. An answer that was lost makes a member say everything
again, as it would after a broken connection.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep
from kafkapy.sim.promises.groups import GroupFacts
from kafkapy.sim.world.rng import SimRng

E: Final = ErrorCode
SESSION_MS: Final = 2_000
OVERSLEEPS_MS: Final = 5_000
_NOT_A_MEMBER: Final = frozenset(
    {E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID, E.GROUP_ID_NOT_FOUND, E.ILLEGAL_GENERATION}
)


@dataclass(slots=True)
class MemberPlan:
    """What all members of a group have in common. `is_calm`: no more accidents;
    `is_over`: the play ends."""

    facts: GroupFacts
    topic: str
    dice: SimRng
    is_calm: Callable[[], bool]
    is_over: Callable[[], bool]

    def ends(self, dice: SimRng) -> str | None:
        """How this member's life ends now, if it does."""
        if self.is_over():
            return "leave"
        if self.is_calm():
            return None
        return "leave" if dice.chance(3) else "vanish" if dice.chance(2) else None

    def pause(self, dice: SimRng) -> Sleep:
        if not self.is_calm() and dice.chance(2):
            return Sleep(OVERSLEEPS_MS)  # its session ends, and it does not know
        return Sleep(dice.magnitude(20, 700))


def consumer_member(plan: MemberPlan, name: str) -> Actor:
    dice = plan.dice.fork(name)
    life = 0
    while not plan.is_over():
        life += 1
        yield from _one_consumer_life(plan, f"{name}-{life}", dice)
        yield Sleep(dice.magnitude(50, 1_500))


def _one_consumer_life(plan: MemberPlan, member: str, dice: SimRng) -> Actor:
    facts = plan.facts
    epoch, owned, says_all = 0, frozenset[int](), True
    topic_id: Any = None
    while True:
        body: dict[str, Any] = {
            "group_id": facts.group,
            "member_id": member,
            "member_epoch": epoch,
            "rebalance_timeout": SESSION_MS if says_all else -1,
            "subscribed_topic_names": [plan.topic] if says_all else None,
            "topic_partitions": [],
        }
        if owned:
            body["topic_partitions"] = [{"topic_id": topic_id, "partitions": sorted(owned)}]
        heard = yield Ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, body)
        if heard is LOST:
            says_all = True
        elif heard.error_code in _NOT_A_MEMBER:
            epoch, owned, says_all = 0, frozenset(), True
            facts.gives_up(member)
        elif heard.error_code == 0:
            epoch, says_all = heard.member_epoch, False
            if heard.assignment is not None:
                rows = heard.assignment.topic_partitions
                topic_id = rows[0].topic_id if rows else topic_id
                owned = frozenset(number for row in rows for number in row.partitions)
            facts.hears(member, epoch, owned)
            yield from commit_some(plan, dice, member, epoch, owned)
        ending = plan.ends(dice)
        if ending is not None:
            facts.gives_up(member)
            if ending == "leave":
                yield Ask(
                    ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, {**_leaving(body), "member_epoch": -1}
                )
            return
        yield plan.pause(dice)


def _leaving(body: dict[str, Any]) -> dict[str, Any]:
    nothing = {"subscribed_topic_names": None, "topic_partitions": None, "rebalance_timeout": -1}
    return {**body, **nothing, "member_epoch": -1}


def classic_member(plan: MemberPlan, name: str) -> Actor:
    dice = plan.dice.fork(name)
    member = ""
    while not plan.is_over():
        member = yield from _one_generation(plan, member, dice)
        yield Sleep(dice.magnitude(10, 200))


def _one_generation(plan: MemberPlan, member: str, dice: SimRng) -> Any:
    """From joining to the next reason to join; the member id to do that with."""
    facts = plan.facts
    if member:
        facts.held[member] = frozenset()  # eager: whoever rejoins has nothing
    joined = yield Ask(ApiKey.JOIN_GROUP, 5, _joining(facts.group, member))
    if joined is LOST:
        return member
    if joined.error_code == E.MEMBER_ID_REQUIRED:
        return joined.member_id
    if joined.error_code != 0:
        return _after_error(plan, member, joined.error_code)
    member, generation = joined.member_id, joined.generation_id
    body = {"group_id": facts.group, "generation_id": generation, "member_id": member}
    shares: list[dict[str, Any]] = []
    if joined.leader == member:
        shares = yield from _shares(plan, [one.member_id for one in joined.members])
    synced = yield Ask(ApiKey.SYNC_GROUP, 3, {**body, "assignments": shares})
    if synced is LOST:
        return member
    if synced.error_code != 0:
        return _after_error(plan, member, synced.error_code)
    owned = frozenset(json.loads(bytes(synced.assignment) or b"[]"))
    facts.hears(member, generation, owned)
    while True:
        yield from commit_some(plan, dice, member, generation, owned)
        ending = plan.ends(dice)
        if ending is not None:
            facts.gives_up(member)
            if ending == "leave":
                leaving = {"group_id": facts.group, "members": [{"member_id": member}]}
                yield Ask(ApiKey.LEAVE_GROUP, 3, leaving)
            return ""
        yield plan.pause(dice)
        heard = yield Ask(ApiKey.HEARTBEAT, 3, body)
        if heard is not LOST and heard.error_code not in (0, *_COORDINATOR_AWAY):
            return _after_error(plan, member, heard.error_code)


_COORDINATOR_AWAY: Final = (
    E.COORDINATOR_LOAD_IN_PROGRESS,
    E.COORDINATOR_NOT_AVAILABLE,
    E.NOT_COORDINATOR,
)


def _after_error(plan: MemberPlan, member: str, error: int) -> str:
    """Rejoins with the id it has, unless nobody knows that."""
    if error in _NOT_A_MEMBER:
        plan.facts.gives_up(member)
        return ""
    return member


def _joining(group: str, member: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout": SESSION_MS,
        "rebalance_timeout": SESSION_MS,
        "member_id": member,
        "protocol_type": "simulated",
        "protocols": [{"name": "in turn", "metadata": b""}],
    }


def _shares(plan: MemberPlan, members: list[str]) -> Any:
    """The leader asks how many partitions there are, and deals them out."""
    answer: Any = LOST
    while answer is LOST:
        answer = yield Ask(ApiKey.METADATA, 9, {"topics": [{"name": plan.topic}]})
    count = len(answer.topics[0].partitions)
    members = sorted(members)
    return [
        {
            "member_id": member,
            "assignment": json.dumps(list(range(at, count, len(members)))).encode(),
        }
        for at, member in enumerate(members)
    ]


def commit_some(
    plan: MemberPlan, dice: SimRng, member: str, epoch: int, owned: frozenset[int]
) -> Any:
    """Go on from what is committed in one of its partitions, a few steps."""
    if not owned or not dice.chance(60):
        return
    partition = TopicPartition(plan.topic, dice.choice(tuple(sorted(owned))))
    at = yield from fetch(plan.facts, partition)
    if at is None:
        return
    for offset in range(at + 1, at + 1 + dice.between(1, 3)):
        row = {"partition_index": partition.partition, "committed_offset": offset}
        body = {
            "group_id": plan.facts.group,
            "generation_id_or_member_epoch": epoch,
            "member_id": member,
            "topics": [{"name": partition.topic, "partitions": [row]}],
        }
        least = plan.facts.acknowledged(partition)
        answer = yield Ask(ApiKey.OFFSET_COMMIT, 9, body)
        if answer is LOST or answer.topics[0].partitions[0].error_code != 0:
            return
        plan.facts.committed(partition, offset, least)
        yield plan.pause(dice)


def fetch(facts: GroupFacts, partition: TopicPartition) -> Any:
    """What is committed, 0 for nothing; None if nobody says."""
    topics = [{"name": partition.topic, "partition_indexes": [partition.partition]}]
    body = {"groups": [{"group_id": facts.group, "topics": topics}], "require_stable": False}
    least = facts.acknowledged(partition)
    answer = yield Ask(ApiKey.OFFSET_FETCH, 8, body)
    if answer is LOST or answer.groups[0].error_code != 0:
        return None
    offset = max(0, answer.groups[0].topics[0].partitions[0].committed_offset)
    facts.fetched(partition, offset, least)
    return offset

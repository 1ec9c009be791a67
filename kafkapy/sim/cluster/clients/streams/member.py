"""A member of a streams group, as the Java client's: one thread of an application.

    heartbeats                                     the thread itself
      joins     epoch 0, with the topology           works on what it has
      is told   active tasks and standbys   ------>  commits and stops what it should not have any
                                                     more, then has what it was told
      says so   only when that changed; or again  <--+
                after an error or a lost answer
      is fenced ---------------------------------->  drops everything; then it joins again

The two go on side by side, each with connections of its own: a thread works on while it is fenced,
and while its heartbeats oversleep the session. Members are slow to give tasks up, leave, and die
without a word: the next one has another name, and the state directory of the process.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import Instant
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep
from kafkapy.sim.clients.group_members import OVERSLEEPS_MS, SESSION_MS
from kafkapy.sim.cluster.clients.routed import Talk
from kafkapy.sim.cluster.clients.streams.application import FIRST, GROUP, Application
from kafkapy.sim.cluster.clients.streams.tasks import Tasks
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.promises.streams import Task, Told, Who
from kafkapy.sim.world.rng import SimRng

E: Final = ErrorCode
_JOINING, _LEAVING = 0, -1
_FENCED: Final = frozenset({E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID})
_LATER: Final = frozenset(
    {E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_LOAD_IN_PROGRESS}
)


class Assignment(NamedTuple):
    active: frozenset[Task]
    standby: frozenset[Task]


NOTHING: Final = Assignment(frozenset(), frozenset())


class Thread:
    """Of a process: one member after the other, while the play lasts."""

    def __init__(self, application: Application, process: str, number: int) -> None:
        self.name = f"{process}-{number}"
        self._application = application
        self._process = process
        self._dice = application.dice.fork(self.name)
        self._member: _Member | None = None
        self._is_done = False

    def actors(self) -> Iterator[tuple[str, Actor]]:
        yield self.name, self._heartbeats()
        yield f"{self.name} works", self._works()

    def _heartbeats(self) -> Actor:
        life = 0
        while not self._application.is_over():
            life += 1
            name = f"{self.name}-{life}"
            self._member = _Member(self._application, Who(self._process, name), self._dice)
            yield from self._member.live()
            self._member = None
            yield Sleep(self._dice.magnitude(50, 1_500))
        self._is_done = True

    def _works(self) -> Actor:
        dice = self._dice.fork("works")
        while not self._is_done:
            if self._member is not None:
                yield from self._member.work(dice)
            yield Sleep(dice.magnitude(20, 400))


class _Member:
    def __init__(self, application: Application, who: Who, dice: SimRng) -> None:
        self._application = application
        self._facts = application.facts
        self._who = who
        self._dice = dice
        self._tasks = Tasks(application, who, lambda: self._epoch)
        self._epoch = _JOINING
        self._told = NOTHING
        self._has = NOTHING
        self._said: Assignment | None = None
        # Until it has nothing any more.
        self._drops = False
        self._is_over = False

    # Heartbeats.

    def live(self) -> Talk:
        while True:
            if not self._drops:
                yield from self._beat()
            ending = self._ending()
            if ending is not None:
                self._is_over = True
                self._facts.gives_up(self._who)
                if ending == "leave":
                    yield from self._leave()
                return
            yield self._pause()

    def _beat(self) -> Talk:
        is_joining, asked = self._epoch == _JOINING, self._application.clock.now()
        has = self._has
        says = is_joining or self._said != has
        answer = yield Ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, self._body(has if says else None))
        if answer is LOST or answer.error_code in _LATER:
            self._said = None
        elif answer.error_code in _FENCED:
            self._facts.gives_up(self._who)
            self._epoch, self._told, self._said, self._drops = _JOINING, NOTHING, None, True
        elif answer.error_code != E.NONE:
            error = E(answer.error_code)
            raise BrokenPromise(f"{self._who.member}: {error!r}: {answer.error_message}")
        else:
            self._said = has if says else self._said
            self._hear(answer, asked, is_joining=is_joining)

    def _hear(self, answer: Any, asked: Instant, *, is_joining: bool) -> None:
        if not is_joining and answer.member_epoch > self._epoch:
            self._facts.lives_on(self._who, asked)
        if answer.member_epoch < self._epoch:
            raise BrokenPromise(
                f"{self._who.member} was in epoch {self._epoch}, and is in {answer.member_epoch}"
            )
        self._epoch = answer.member_epoch
        if answer.active_tasks is None:
            if is_joining:
                raise BrokenPromise(f"{self._who.member} joined, and was told of no tasks")
            return
        if answer.warmup_tasks:
            raise BrokenPromise(f"{self._who.member} is to warm up {answer.warmup_tasks}")
        self._told = Assignment(_named(answer.active_tasks), _named(answer.standby_tasks))
        told = Told(self._who, self._epoch, asked, self._application.clock.now())
        self._facts.hears(told, self._told.active, self._told.standby)

    def _leave(self) -> Talk:
        self._drops = True
        while self._drops:
            yield Sleep(20)
        yield Ask(
            ApiKey.STREAMS_GROUP_HEARTBEAT,
            0,
            {**self._body(None), "member_epoch": _LEAVING, "topology": None},
        )

    def _ending(self) -> str | None:
        if self._application.is_over():
            return "leave"
        if self._application.is_calm():
            return None
        return "leave" if self._dice.chance(2) else "vanish" if self._dice.chance(1) else None

    def _pause(self) -> Sleep:
        if not self._application.is_calm() and self._dice.chance(2):
            return Sleep(OVERSLEEPS_MS)  # its session ends, and it does not know
        return Sleep(self._dice.magnitude(20, 500))

    # Work.

    def work(self, dice: SimRng) -> Talk:
        is_calm = self._application.is_calm()
        if not self._drops and (is_calm or dice.chance(80)):
            yield from self._reconcile()
        for task in sorted(self._has.active):
            if not self._drops and (is_calm or dice.chance(70)):
                yield from self._tasks.advance(task)
        for task in sorted(self._has.standby):
            if task[0] == FIRST:
                raise BrokenPromise(f"{task} has no state, and {self._who.member} is to copy it")
            if not self._drops and dice.chance(50):
                yield from self._tasks.restore(task)
        if self._drops:
            self._tasks.forget_all_but(())
            self._has, self._drops = NOTHING, False

    def _reconcile(self) -> Talk:
        """Commits what it is to give up, stops it, and has what it was told by then."""
        for task in sorted(self._has.active - self._told.active):
            yield from self._tasks.advance(task)
        if self._drops or self._is_over or self._epoch == _JOINING:
            return
        self._has = self._told
        self._tasks.forget_all_but(self._has.active)
        now = self._application.clock.now()
        self._facts.runs(self._who, self._has.active, self._has.standby, now)

    def _body(self, has: Assignment | None) -> dict[str, Any]:
        is_joining = self._epoch == _JOINING
        body: dict[str, Any] = {
            "group_id": GROUP,
            "member_id": self._who.member,
            "member_epoch": self._epoch,
            "endpoint_information_epoch": -1,
            "active_tasks": None if has is None else _rows(has.active),
            "standby_tasks": None if has is None else _rows(has.standby),
            "warmup_tasks": None if has is None else [],
        }
        if is_joining:
            body |= {
                "topology": self._application.topology(),
                "rebalance_timeout": SESSION_MS,
                "process_id": self._who.process,
                "client_tags": [],
            }
        return body


def _named(rows: Any) -> frozenset[Task]:
    return frozenset((one.subtopology_id, index) for one in rows for index in one.partitions)


def _rows(tasks: frozenset[Task]) -> list[dict[str, Any]]:
    parts = sorted({part for part, _ in tasks})
    return [
        {
            "subtopology_id": part,
            "partitions": sorted(index for one, index in tasks if one == part),
        }
        for part in parts
    ]

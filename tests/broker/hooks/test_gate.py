"""One partition's gate, with a hook that costs what the test says."""

from collections.abc import Callable

from kafkapy.broker.hooks.produce import ProduceGate, Room
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.hooks import Place, ProduceHook, Record
from kafkapy.hooks.allowance import Allowance
from kafkapy.hooks.guarded import Guarded
from kafkapy.log.config import LogConfig
from kafkapy.protocol.batches.batch import build_batch, records
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.sim.world.clock import SimClock
from kafkapy.testing.node.shell import Heard

PLACE = Place("orders", 0)
Out = list[bytes | None] | Refused


class Costly(ProduceHook):
    """A hook, and the clock that it moves."""

    def __init__(self) -> None:
        self.ns = 0
        self.seen: list[bytes | None] = []

    def produced(self, record: Record, place: Place) -> Record:
        self.ns += 800_000
        self.seen.append(record.value)
        return record

    def find(self, name: str) -> object:
        return self

    def now_ns(self) -> int:
        return self.ns


def gate_of(hook: Costly, clock: SimClock, room: Room, over: list[ProduceGate]) -> ProduceGate:
    guarded = Guarded("it", ProduceHook, "produced", "orders", hook, Allowance(1000, 1), Heard())
    return ProduceGate(clock, guarded, PLACE, room, LogConfig, over.append)


def batch(*values: bytes) -> bytes:
    return build_batch([NewRecord(None, one, 1) for one in values])


def into(out: list[Out]) -> Callable[[bytes | Refused], None]:
    def then(made: bytes | Refused) -> None:
        out.append(made if isinstance(made, Refused) else [one.value for one in records(made)])

    return then


def test_others_are_served_between_its_records_and_its_batches_keep_their_order() -> None:
    clock, hook, out = SimClock(), Costly(), list[Out]()
    gate = gate_of(hook, clock, Room(), [])
    gate.submit(batch(b"a", b"b", b"c", b"d"), lambda: True, into(out))
    gate.submit(batch(b"e"), lambda: True, into(out))
    assert len(hook.seen) < 4  # a slice is a millisecond
    clock.settle()
    assert clock.calls >= 2
    assert out == [[b"a", b"b", b"c", b"d"], [b"e"]]


def test_what_nobody_waits_for_any_more_is_not_asked_about() -> None:
    clock, hook, out = SimClock(), Costly(), list[Out]()
    gate = gate_of(hook, clock, Room(), [])
    gate.submit(batch(b"a", b"b", b"c"), lambda: True, into(out))
    gate.submit(batch(b"given up"), lambda: False, into(out))
    clock.settle()
    assert out == [[b"a", b"b", b"c"]]
    assert hook.seen == [b"a", b"b", b"c"]


def test_there_is_room_for_so_much_and_for_one_that_is_larger() -> None:
    clock, hook, out = SimClock(), Costly(), list[Out]()
    room = Room(most_bytes=10)
    gate = gate_of(hook, clock, room, [])
    gate.submit(batch(b"a", b"b", b"c"), lambda: True, into(out))
    gate.submit(batch(b"d"), lambda: True, into(out))
    gate.submit(batch(b"e"), lambda: True, into(out))
    (refused,) = out
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.NOT_ENOUGH_REPLICAS
    clock.settle()
    assert out[1:] == [[b"a", b"b", b"c"], [b"d"]]
    assert room.used_bytes == 0


def test_a_gate_whose_hook_is_taken_away_is_over_when_nothing_waits() -> None:
    """What waits keeps its place before what comes; without being asked about."""
    clock, hook, out, over = SimClock(), Costly(), list[Out](), list[ProduceGate]()
    gate = gate_of(hook, clock, Room(), over)
    gate.submit(batch(b"a", b"b", b"c"), lambda: True, into(out))
    gate.submit(batch(b"d"), lambda: True, into(out))
    gate.hook = None
    assert not over
    clock.settle()
    assert out == [[b"a", b"b", b"c"], [b"d"]]
    assert b"d" not in hook.seen
    assert over == [gate]

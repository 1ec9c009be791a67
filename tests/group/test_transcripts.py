"""Rebalances read as prose (golden/*.txt)."""

from kafkapy.group.classic.events import OfferedProtocol
from tests.group.test_migration import Classic, assignment
from tests.group.transcript import Transcript
from tests.group.world import ClassicClient, ConsumerClient, World, subscription


def test_a_classic_group_grows_and_shrinks() -> None:
    world = World()
    script = Transcript("A classic group: two members, a third comes, the leader goes", world)
    first, second, third = (ClassicClient(world) for _ in range(3))

    def join(name: str, client: ClassicClient) -> None:
        script.says(name, f"join {client.member_id}".rstrip())
        client.join()
        if client.waiting and not client.waiting.is_waiting and not client.member_id:
            client.member_id = client.waiting.reply.member_id
            script.says(name, f"join {client.member_id}")
            client.join()

    def sync(name: str, client: ClassicClient, *others: ClassicClient) -> None:
        client.joined()
        script.says(name, "sync with the assignment" if others else "sync")
        client.sync({one.member_id: one.member_id.encode() for one in (client, *others) if others})

    def beat(name: str, client: ClassicClient) -> None:
        script.says(name, "heartbeat")
        client.heartbeat()

    join("first", first)
    script.wait(1_000)
    join("second", second)
    script.wait(5_000)
    sync("second", second)
    sync("first", first, second)
    script.note("the third comes")
    join("third", third)
    beat("first", first)
    beat("second", second)
    join("first", first)
    join("second", second)
    sync("second", second)
    sync("third", third)
    sync("first", first, second, third)
    script.note("the leader leaves, the third says nothing any more")
    script.says("first", "leave")
    first.leave()
    beat("second", second)
    join("second", second)
    script.wait(10_000)
    sync("second", second, second)
    script.check("classic")


def test_a_static_member_restarts() -> None:
    world = World(initial_rebalance_delay_ms=0)
    script = Transcript("A static member restarts inside its session: nobody rebalances", world)
    both = [ClassicClient(world, instance_id=name) for name in ("a", "b")]
    for client in both:
        script.says(client.instance_id or "", "join")
        client.join()
    script.wait(0)
    for client in both:
        client.joined()
    script.says("b", "sync")
    both[1].sync()
    script.says("a", "sync with the assignment")
    both[0].sync({client.member_id: client.member_id.encode() for client in both})
    script.note("b is killed and started again")
    again = ClassicClient(world, instance_id="b")
    script.says("b'", "join")
    again.join()
    again.joined()
    script.says("b'", "sync")
    again.sync()
    script.says("a", "heartbeat")
    both[0].heartbeat()
    script.says("b", "heartbeat (the old one)")
    both[1].heartbeat()
    script.note("its leader is started again: it is told not to assign")
    third = ClassicClient(world, instance_id="a")
    script.says("a'", "join")
    third.join()
    script.check("static")


def test_partitions_change_hands_under_kip_848() -> None:
    world = World()
    world.topics.create("orders", 4)
    script = Transcript("KIP-848: a second member comes, the first leaves", world)
    first, second = ConsumerClient(world, "first"), ConsumerClient(world, "second")

    def beat(client: ConsumerClient, what: str = "heartbeat") -> None:
        script.says(client.member_id, what)
        client.beat()

    beat(first, "heartbeat, joining")
    script.wait(1_000)
    beat(second, "heartbeat, joining")
    script.wait(1_000)
    script.note("the first hears that it must give up two, and does")
    beat(first)
    script.wait(1_000)
    beat(second)
    script.wait(1_000)
    beat(first)
    beat(second)
    script.note("the first leaves")
    script.says("first", "leave")
    first.leave()
    script.wait(1_000)
    beat(second)
    script.check("consumer")


def test_a_group_is_upgraded_member_by_member() -> None:
    world = World()
    world.topics.create("orders", 4)
    script = Transcript("From the classic to the consumer protocol and back", world)
    old = Classic(world)
    old.owned()
    script.says("old", "join")
    old.join()
    old.member_id = old.waiting.reply.member_id if old.waiting else ""
    script.says("old", "join")
    old.join()
    script.wait(3_000)
    old.joined()
    script.says("old", "sync with the assignment")
    old.sync({old.member_id: assignment(0, 1, 2, 3)})
    old.protocols = (OfferedProtocol("cooperative-sticky", subscription("orders")),)
    new = ConsumerClient(world, "new")
    script.note("a member of the new protocol comes")
    for _ in range(3):
        script.says("new", "heartbeat")
        new.beat()
        script.says("old", "heartbeat")
        old.heartbeat()
        script.says("old", "join")
        old.join()
        old.joined()
        script.says("old", "sync")
        old.sync()
        script.wait(1_000)
    script.note("and goes")
    script.says("new", "leave")
    new.leave()
    script.says("old", "heartbeat")
    old.heartbeat(generation=world.group().generation)
    script.check("migration")

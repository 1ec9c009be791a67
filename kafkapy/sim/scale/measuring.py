"""What is measured, in this order, each line printed as soon as it is known.

nothing --> topics, a hundred at a time --> as many as one request may bring --> at rest
  --> a broker dies --> it comes back --> the controller dies --> it comes back, and takes
  a snapshot
"""

from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.snapshot_file import read_snapshot
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.scale.meter import disk_bytes, image_bytes, resident_bytes
from kafkapy.sim.scale.world import ScaleWorld

_A_REQUEST = 100
_REST_MS = 10_000
_MB = 1_000_000


def measure(brokers: int, topics: int, partitions: int, *, at_once: int, seed: int) -> None:
    empty = resident_bytes()
    world = ScaleWorld(brokers, seed)
    nothing = resident_bytes()
    nodes = brokers + len(world.controllers)
    _tell("nodes, each", _mb((nothing - empty) / nodes))
    _report(world, "start")

    names = [f"topic-{number}" for number in range(topics)]
    few, many = names[: topics - at_once], names[topics - at_once :]
    for begin in range(0, len(few), _A_REQUEST):
        world.create_topics(few[begin : begin + _A_REQUEST], partitions)
    world.settle()
    _report(world, f"{len(few)} topics made, {_A_REQUEST} a request")

    before = world.log_of(world.active)
    took_ms = world.create_topics(many, partitions)
    world.settle()
    _report(world, f"{len(many)} topics made by one request, answered after {took_ms} virtual ms")
    _log_grew(world, before)
    _memory(world, nothing)

    world.run(_REST_MS)
    _report(world, f"at rest for {_REST_MS / 1000:.0f} virtual s")

    _broker_dies(world)
    _controller_dies(world)


def _broker_dies(world: ScaleWorld) -> None:
    lost = world.brokers[-1]
    led = world.leads(lost.node_id)
    before = world.log_of(world.active)
    lost.kill()
    took_ms = world.look_often(lambda: not world.leads(lost.node_id))
    _report(world, f"a broker that led {led} died, all moved after {took_ms} virtual ms: decided")
    world.run(1000)
    _report(world, "and within the next virtual second: followed")
    _log_grew(world, before)
    lost.start()
    world.settle()
    _report(world, "it is back and in sync")
    world.run(1000)
    world.meter.take()


def _controller_dies(world: ScaleWorld) -> None:
    lost = world.active
    lost.kill()
    took_ms = world.wait(lambda: world.active is not lost)
    _report(world, f"the controller died, another is active after {took_ms} virtual ms")
    world.run(2000)
    _report(world, "and its next two virtual seconds")
    lost.start()
    world.wait(lambda: lost.is_serving)
    world.run(2000)
    _report(world, f"{lost.name} is back")
    world.run(12_000)
    _report(world, "and took a snapshot meanwhile")
    _snapshot(lost)


def _snapshot(host: Host) -> None:
    assert host.node is not None
    snapshots = host.node.quorum.log.snapshots
    latest = snapshots.latest
    if latest is None or not latest.end_offset:
        _tell("no snapshot: what was replayed was not worth one")
        return
    _tell(f"snapshot of {host.name}", f"{latest.end_offset} offsets", _mb(snapshots.size(latest)))
    image = MetadataImage()
    for batch in read_snapshot(snapshots.open(latest)):
        for record in batch.records:
            image.apply(record)
    own = image_bytes(image.copy(), known=(image,))
    _tell(
        f"an image of {image.partition_count} partitions",
        _mb(image_bytes(image)),
        f"a copy of it besides {_mb(own)}",
    )


def _memory(world: ScaleWorld, before: int) -> None:
    grown = resident_bytes() - before
    disks = [disk_bytes(host.disk) for host in (*world.brokers, *world.controllers)]
    nodes = len(disks)
    _tell("all nodes have grown by", _mb(grown), f"of which simulated disks {_mb(sum(disks))}")
    _tell("a node, without its disk", _mb((grown - sum(disks)) / nodes))


def _log_grew(world: ScaleWorld, before: tuple[int, int]) -> None:
    records, size = world.log_of(world.active)
    _tell(
        "metadata log",
        f"{records - before[0]} records",
        f"{(size - before[1]) / 1000:.0f} kB",
    )


def _report(world: ScaleWorld, what: str) -> None:
    cpu, longest = world.meter.take()
    active = world.active.name
    followers = [cpu.get(one.name, 0.0) for one in world.controllers if one.name != active]
    brokers = [cpu.get(one.name, 0.0) for one in world.brokers]
    _tell(what)
    _tell(
        "   CPU",
        f"active controller {active} {_s(cpu.get(active, 0.0))}",
        f"other controllers {_s(_mean(followers))}",
        f"brokers {_s(_mean(brokers))} (most {_s(max(brokers))})",
    )
    for held in longest[:4]:
        _tell(f"   held {held.who} for {held.ms:.0f} ms: {held.what}")


def _tell(*facts: object) -> None:
    print(", ".join(map(str, facts)), flush=True)


def _mean(figures: list[float]) -> float:
    return sum(figures) / len(figures)


def _s(seconds: float) -> str:
    return f"{seconds:.3f} s"


def _mb(size: float) -> str:
    return f"{size / _MB:.1f} MB"

"""Nodes with one role or two, on a simulated disk and clock."""

from collections.abc import Sequence
from typing import Any

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.node.controller_role import ControllerRole
from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.dispatch import dispatch, encode
from kafkapy.broker.requests.request import Later, Peer
from kafkapy.core.addresses import Address
from kafkapy.core.errors import ErrorCode
from kafkapy.core.network import ChannelOwner, Down
from kafkapy.core.seams import Bytes
from kafkapy.kraft.storage.format import format_directories
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng
from kafkapy.sim.world.world import World
from kafkapy.testing.node.shell import Heard

CONTROLLER_ALONE = {
    "process.roles": "controller",
    "listeners": "CONTROLLER://127.0.0.1:9093",
}


def ask_controller(world: World, api: ApiKey, version: int, body: dict[str, Any]) -> Any:
    """On its own listener, until it is answered."""
    assert world.node is not None
    request = request_head(api, version, 1, "test") + encode_request(api, version, body)
    peer = Peer("CONTROLLER", "127.0.0.1", is_controller_listener=True)
    call, answer = dispatch(world.node, memoryview(request), peer)
    if isinstance(answer, Later):
        later = answer
        assert world.clock.run_until(lambda: later.is_resolved, 10_000)
        answer = later.answer
    data = b"".join(part for part in encode(call, answer) if isinstance(part, bytes))
    view = memoryview(data)[4:]
    _, at = read_response_head(api, version, view)
    return decode_response(api, version, view[at:])


def controller_of(world: World) -> ControllerRole:
    assert world.node is not None
    assert world.node.controller is not None
    return world.node.controller


def until_registered(world: World) -> None:
    controllers = controller_of(world).image.controllers
    assert world.clock.run_until(lambda: 1 in controllers, 10_000)


def creation(name: str) -> dict[str, Any]:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
    return {"topics": [topic], "timeout": 10_000}


def create(world: World, name: str) -> int:
    answer = world.ask(ApiKey.CREATE_TOPICS, creation(name))
    code: int = answer.topics[0].error_code
    return code


def test_a_controller_alone_starts_answers_and_stops() -> None:
    world = World(1, CONTROLLER_ALONE)
    for _ in range(2):
        world.start()
        assert world.node is not None
        assert world.node.broker is None
        until_registered(world)
        told = ask_controller(world, ApiKey.DESCRIBE_CLUSTER, 1, {"endpoint_type": 2})
        assert (told.controller_id, [one.broker_id for one in told.brokers]) == (1, [1])
        quorum = ask_controller(
            world,
            ApiKey.DESCRIBE_QUORUM,
            2,
            {
                "topics": [
                    {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
                ]
            },
        )
        assert quorum.topics[0].partitions[0].leader_id == 1
        world.stop()


def test_a_controller_alone_decides_about_brokers_that_are_elsewhere() -> None:
    """None is registered: it says so instead of waiting for one."""
    world = World(1, CONTROLLER_ALONE)
    world.start()
    topic = {"name": "t", "num_partitions": 1, "replication_factor": 1}
    answer = ask_controller(world, ApiKey.CREATE_TOPICS, 7, {"topics": [topic], "timeout": 1000})
    assert answer.topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    world.stop()


def test_a_controllers_listener_serves_before_anybody_leads() -> None:
    """Voters have to reach one another to elect a leader."""
    world = World(1)
    world.start()
    controller_of(world).controller.resign()
    event = {"broker_id": 2, "broker_epoch": 1, "current_metadata_offset": 1, "want_fence": False,
             "want_shut_down": False}  # fmt: skip
    answer = ask_controller(world, ApiKey.BROKER_HEARTBEAT, 0, event)
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
    assert ask_controller(world, ApiKey.API_VERSIONS, 0, {}).error_code == 0


class NobodyListens:
    """A network on which every address refuses."""

    def __init__(self, clock: SimClock) -> None:
        self._clock = clock

    def connect(self, address: Address, listener: str, owner: ChannelOwner) -> "NobodyListens":
        self._clock.call_soon(lambda: owner.on_down(Down.REFUSED, "nobody listens"))
        return self

    def send(self, parts: Sequence[Bytes]) -> None:
        raise AssertionError("it was never up")

    def close(self) -> None:
        pass


def test_a_broker_alone_waits_for_a_controller_and_is_stopped_while_it_does() -> None:
    """Settings say no so far, as no controller can be reached (broker/config/table/refusals.py);
    the node is put together in the same way."""
    properties = {
        "process.roles": "broker",
        "node.id": "2",
        "listeners": "PLAINTEXT://127.0.0.1:9092",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
        "log.dirs": "/data/a",
    }
    clock, rng = SimClock(), SimRng(1)
    disk = SimDisk(clock.now, clock.call_soon)
    disk.make_directory("/data/a")
    format_directories(
        disk, rng, clock.now(), ["/data/a"], cluster_id=None, node_id=2, ignore_formatted=False
    )
    node = Node(
        config=BrokerConfig(properties),
        disk=disk,
        clock=clock,
        rng=rng,
        journal=Heard(),
        bound_ports={},
        network=NobodyListens(clock),
    )
    told: list[str] = []
    assert node.controller is None
    node.start(lambda: told.append("started"))
    clock.run_until(lambda: bool(told), 30_000)
    assert not told
    node.stop(lambda: told.append("stopped"))
    assert clock.run_until(lambda: bool(told), 10_000)
    assert told == ["stopped"]


def test_losing_and_winning_the_quorum_touches_the_controller_alone() -> None:
    """Lose it, write on, win it, three times: the broker serves and is the same throughout."""
    world = World(1)
    world.start()
    assert create(world, "t") == 0
    role = controller_of(world)
    epoch = world.broker.image.brokers[1].epoch
    partition = world.broker.partitions.get("t", 0)
    assert partition is not None
    for number in range(3):
        role.quorum.on_resign()
        waits = world.send(ApiKey.CREATE_TOPICS, creation(f"waits-{number}"))
        world.clock.run_until(lambda: False, 20_000)  # heartbeats go unheard meanwhile
        assert partition.is_leader
        assert not waits.is_answered
        role.quorum.on_lead(role.image, ())
        world.clock.advance(1_000)
        assert waits.answer.topics[0].error_code == 0
        assert create(world, f"won-{number}") == 0
        assert world.broker.partitions.get("t", 0) is partition
    world.clock.run_until(lambda: False, 30_000)
    registration = world.broker.image.brokers[1]
    assert (registration.epoch, registration.fenced) == (epoch, False)
    world.stop()


def test_a_node_is_stopped_before_it_has_a_controller() -> None:
    """What its last life left in its directories is as it was."""
    world = World(1)
    world.start()
    assert create(world, "t") == 0
    world.stop()
    node = world.boot()
    stopped: list[bool] = []
    node.start(lambda: stopped.append(False))
    node.stop(lambda: stopped.append(True))
    assert world.clock.run_until(lambda: bool(stopped), 10_000)
    assert stopped == [True]
    world.kill()
    world.start()
    (loaded,) = [one for one in world.journal.lines if one.event == "logs loaded"]
    assert "unclean" not in loaded.facts
    assert world.broker.partitions.get("t", 0) is not None
    world.stop()

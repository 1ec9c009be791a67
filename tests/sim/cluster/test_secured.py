"""Nodes that log in at one another, and one that cannot."""

import pytest

from kafkapy.broker.config.security.jaas import PLAIN_MODULE, SCRAM_MODULE
from kafkapy.protocol import scram
from kafkapy.sim.cluster.world import COMBINED, ClusterWorld
from tests.broker.security.gate import credential
from tests.sim.cluster.test_membership import all_serve, unfenced

SECURED = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
}
LAYOUTS = {
    "three combined": (COMBINED,) * 3,
    "one controller, one broker": ("controller", "broker"),
}


def plain(password: str = "of-nodes") -> dict[str, str]:
    line = (
        f'{PLAIN_MODULE} required username="node" password="{password}" user_node="of-nodes" '
        'user_alice="hers";'
    )
    keys = ("listener.name.plaintext", "listener.name.controller")
    return {f"{key}.plain.sasl.jaas.config": line for key in keys}


@pytest.mark.parametrize("roles", LAYOUTS.values(), ids=LAYOUTS)
def test_nodes_log_in_at_one_another_again_and_again(roles: tuple[str, ...]) -> None:
    """Sessions of three seconds, for a minute: nobody is fenced, nobody is lost."""
    settings = {**SECURED, **plain(), "connections.max.reauth.ms": "3000"}
    world = ClusterWorld(1, roles, settings)
    world.start()
    world.run_until(lambda: all_serve(world), 30_000)
    before = unfenced(world)
    epoch = world.wait_for_controller()
    world.run(60_000)
    assert unfenced(world) == before
    assert world.active_controller is epoch
    assert "authentication failed" not in repr(vars(world.trace))


def test_a_broker_with_another_password_stays_outside() -> None:
    world = ClusterWorld(2, ("controller", "broker", "broker"), {**SECURED, **plain()})
    world.hosts[3].settings.update(plain("guessed"))
    world.start()
    world.run_until(lambda: world.hosts[2].is_serving, 30_000)
    world.run(20_000)
    assert not world.hosts[3].is_serving
    assert unfenced(world) == {2}
    told = repr(vars(world.trace))
    assert "authentication failed" in told
    assert "wrong password" in told
    assert "guessed" not in told
    assert "of-nodes" not in told


def test_brokers_log_in_at_the_controller_by_scram_from_the_first_record_on() -> None:
    settings = {
        **SECURED,
        **plain(),
        "listener.name.controller.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.controller.protocol": "SCRAM-SHA-512",
        "listener.name.controller.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required "
        'username="node" password="of-nodes";',
    }
    users = [credential("node", scram.SHA_512, "of-nodes")]
    world = ClusterWorld(3, ("controller", "broker", "broker"), settings, users)
    world.start()
    world.run_until(lambda: all_serve(world), 30_000)
    assert unfenced(world) == {2, 3}

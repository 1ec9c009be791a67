"""Who may connect, by address and by rate, in virtual time."""

import pytest

from kafkapy.broker.quotas.door import Door, overrides_of
from kafkapy.broker.quotas.limits import Limits
from kafkapy.sim.world.clock import SimClock
from tests.broker.config.kafka import minimal
from tests.kraft.controller.access.test_client_quotas import entity

HERE, THERE = "10.0.0.1", "10.0.0.2"


class Guarded:
    def __init__(self, limits: Limits | None = None, **settings: str) -> None:
        self.clock = SimClock()
        config = minimal(**settings)
        self.door = Door(config, self.clock, lambda: limits or Limits({}))

    def came(self, host: str = HERE, listener: str = "PLAINTEXT") -> str | None:
        away = self.door.came(listener, host)
        return None if away is None else away.reason


def test_by_default_everybody_may() -> None:
    guarded = Guarded()
    for _ in range(1000):
        assert guarded.came() is None
    assert guarded.door.wait_ms("PLAINTEXT") == 0


def test_one_address_holds_so_many_and_others_their_own() -> None:
    guarded = Guarded(max_connections_per_ip="2")
    assert [guarded.came() for _ in range(2)] == [None, None]
    assert "max.connections.per.ip" in (guarded.came() or "")
    assert guarded.came(THERE) is None
    guarded.door.left(HERE)
    assert guarded.came() is None


def test_some_addresses_are_exceptions() -> None:
    overrides = "10.0.0.2:3, ::1:1, [::ffff:10.0.0.4]:2"
    guarded = Guarded(max_connections_per_ip="0", max_connections_per_ip_overrides=overrides)
    assert guarded.came() is not None
    assert [guarded.came(THERE) for _ in range(3)] == [None] * 3
    assert guarded.came(THERE) is not None
    assert guarded.came("::1") is None
    assert [guarded.came("10.0.0.4") for _ in range(2)] == [None] * 2, "one of IPv4, mapped"
    with pytest.raises(ValueError, match="localhost"):
        overrides_of("localhost:5")


def test_an_address_that_connects_too_often_is_closed_after_a_moment() -> None:
    limits = Limits({entity(ip=HERE): {"connection_creation_rate": 2}})
    guarded = Guarded(limits)
    assert [guarded.came() for _ in range(20)] == [None] * 20
    away = guarded.door.came("PLAINTEXT", HERE)
    assert away is not None
    assert 0 < away.wait_ms <= 1000
    assert guarded.came(THERE) is None
    guarded.clock.advance(11_000)
    assert guarded.came() is None


def test_the_next_waits_at_the_door_while_there_are_too_many_in_a_second() -> None:
    guarded = Guarded(max_connection_creation_rate="10")
    for _ in range(100):
        assert guarded.door.wait_ms("PLAINTEXT") == 0
        assert guarded.came() is None
    assert guarded.came() is None
    wait_ms = guarded.door.wait_ms("PLAINTEXT")
    assert 0 < wait_ms <= 1000
    opened: list[bool] = []
    guarded.door.call_in(wait_ms, lambda: opened.append(True))
    guarded.clock.advance(wait_ms)
    assert opened == [True]


def test_a_listener_has_a_rate_of_its_own() -> None:
    guarded = Guarded(listener_name_plaintext_max_connection_creation_rate="1")
    for _ in range(11):
        guarded.came()
    assert guarded.door.wait_ms("PLAINTEXT") > 0
    assert guarded.door.wait_ms("OTHER") == 0

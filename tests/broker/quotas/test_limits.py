"""Whose quota counts, and who shares it: the table of KIP-55."""

from typing import Any

from kafkapy.broker.quotas.limits import CONSUMED, PRODUCED, Limit, Limits
from tests.kraft.controller.access.test_client_quotas import entity

# From the least to the most that is said of a client, and who shares it.
STEPS: tuple[tuple[dict[str, str | None], tuple[str, str]], ...] = (
    ({"client_id": None}, ("", "app")),
    ({"client_id": "app"}, ("", "app")),
    ({"user": None}, ("alice", "")),
    ({"client_id": None, "user": None}, ("alice", "app")),
    ({"client_id": "app", "user": None}, ("alice", "app")),
    ({"user": "alice"}, ("alice", "")),
    ({"client_id": None, "user": "alice"}, ("alice", "app")),
    ({"client_id": "app", "user": "alice"}, ("alice", "app")),
)


def test_the_most_that_is_said_of_a_client_counts() -> None:
    quotas: dict[Any, dict[str, float]] = {}
    for bound, (whose, shared_by) in enumerate(STEPS, 1):
        quotas[entity(**whose)] = {PRODUCED: float(bound)}
        assert Limits(quotas).of_client(PRODUCED, "User:alice", "app") == Limit(bound, shared_by)


def test_each_kind_of_quota_is_looked_for_by_itself() -> None:
    limits = Limits({entity(user="alice"): {CONSUMED: 5}, entity(client_id=None): {PRODUCED: 7}})
    assert limits.of_client(PRODUCED, "User:alice", "app") == Limit(7, ("", "app"))
    assert limits.of_client(CONSUMED, "User:alice", "app") == Limit(5, ("alice", ""))
    assert limits.of_client(CONSUMED, "User:bob", "app") is None
    assert limits.has_any_of_clients


def test_a_long_client_id_has_its_quota_and_is_kept_nowhere() -> None:
    """Told apart by all of it; what it shares, by its hash."""
    long, other = "x" * 32_000 + "a", "x" * 32_000 + "b"
    limits = Limits(
        {
            entity(client_id=long): {PRODUCED: 5},
            entity(client_id=None): {PRODUCED: 7},
            entity(client_id="app"): {PRODUCED: 9},
        }
    )
    found = [limits.of_client(PRODUCED, "User:alice", one) for one in (long, other, "app")]
    assert [one and one.bound for one in found] == [5, 7, 9]
    shared = [one.shared_by for one in found if one]
    assert len(set(shared)) == 3
    assert max(len(client_id) for _, client_id in shared) < 100
    assert [client_id for _, _, client_id in limits._found] == ["app"]


def test_an_address_has_one_rate_however_it_is_spelled() -> None:
    rates = {entity(ip="0:0:0:0:0:0:0:1"): {"connection_creation_rate": 2.0}}
    rates[entity(ip="::ffff:10.0.0.1")] = {"connection_creation_rate": 3.0}
    limits = Limits(rates)
    assert limits.of_address("::1") == 2
    assert limits.of_address("10.0.0.1") == 3


def test_an_addresss_own_rate_counts_before_that_of_all() -> None:
    limits = Limits(
        {
            entity(ip=None): {"connection_creation_rate": 10},
            entity(ip="10.0.0.1"): {"connection_creation_rate": 2},
        }
    )
    assert limits.of_address("10.0.0.1") == 2
    assert limits.of_address("10.0.0.2") == 10
    assert Limits({}).of_address("10.0.0.2") is None
    assert not limits.has_any_of_clients

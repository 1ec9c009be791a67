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

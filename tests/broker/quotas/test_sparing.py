"""What is spared is not looked at, and counts all the same: averages and waits are those of
somebody who records each use by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.broker.quotas.client_quotas import Measured
from kafkapy.broker.quotas.rates import Rate
from kafkapy.broker.requests.request import Peer
from kafkapy.core.time import Instant
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.world.world import World
from tests.broker.quotas.test_charging import ANYBODY, Client, ms, world

__all__ = ["world"]
K = ApiKey
T0 = Instant(1_000_000)

STEPS = st.lists(
    st.tuples(st.sampled_from([0, 0, 0, 1, 30, 999, 1000, 5000]), st.integers(1, 3000)),
    min_size=1,
    max_size=120,
)


class Plain:
    """As Apache Kafka does it: each use by itself."""

    def __init__(self, samples: int) -> None:
        self._rate = Rate(samples, 1000)

    def charge(self, used: int, bound: float, now: Instant) -> int:
        self._rate.record(used, now)
        return self._rate.wait_ms(bound, now)


@given(STEPS, st.sampled_from([1, 2, 3, 11]), st.sampled_from([50, 1000, 20_000]))
def test_waits_are_those_of_recording_each_by_itself(
    steps: list[tuple[int, int]], samples: int, bound: int
) -> None:
    plain = Plain(samples)
    rate = Rate(samples, 1000)
    spared = Measured(rate, bound, 2**31 - 1)
    now = T0
    for wait_ms, used in steps:
        now = Instant(now + wait_ms)
        expected = plain.charge(used, bound, now)
        if rate.fits(used, now):
            rate.use(used, now)
            assert expected == 0
        else:
            assert spared.charge(used, now) == expected


def test_what_is_spared_ends_with_the_sample() -> None:
    rate = Rate(11, 1000)
    assert Measured(rate, 1000, 1000).charge(10, T0) == 0
    assert rate.fits(9990, T0)
    assert not rate.fits(9991, T0)
    assert rate.fits(1, Instant(T0 + 999))
    assert not rate.fits(1, Instant(T0 + 1000))
    assert not rate.fits(1, Instant(T0 - 1))


def is_spared(client: Client) -> bool:
    """Whether a known frame of the client is charged without a look."""
    frames, quotas = client.peer.frames, client.node.quotas
    assert frames is not None
    assert quotas is not None
    return frames.is_charged(quotas, 0, quotas.ticks())


def test_a_known_frame_well_below_its_quota_is_charged_without_a_look(world: World) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, producer_byte_rate=100_000, request_percentage=50)
    client.produce(100)
    assert not is_spared(client)
    client.produce(100)  # known by its bytes now
    assert is_spared(client)
    produced = client.peer.account and client.peer.account.produced
    assert produced
    for _ in range(5):
        client.produce(1000)
    used, _ = produced.rate.measure(client.node.clock.now())
    assert 520 < used < 600


def test_bytes_that_were_not_looked_at_count_when_the_quota_is_reached(world: World) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, producer_byte_rate=10_000)
    waits = [ms(client.produce(1000)) for _ in range(150)]
    first = next(at for at, wait in enumerate(waits) if wait)
    # Ten seconds' worth, of requests that are a hundred bytes longer than their value.
    assert first in range(88, 95)
    assert client.ears.is_muted


def test_those_who_share_a_quota_share_what_is_spared(world: World) -> None:
    one, other = Client(world, "one"), Client(world, "other")
    one.set_quota({"user": "ANONYMOUS"}, producer_byte_rate=10_000)
    waits = [(ms(one.produce(1000)), ms(other.produce(1000))) for _ in range(60)]
    assert not any(wait for both in waits[:40] for wait in both)
    assert any(wait for both in waits for wait in both)


@pytest.mark.parametrize("is_other", [False, True])
def test_a_quota_that_changes_counts_for_the_next_request(world: World, is_other: bool) -> None:
    """What was spared under the one before is void, also of connections that have it."""
    client, admin = Client(world), Client(world, "admin")
    admin.set_quota({"client-id": "somebody else"}, producer_byte_rate=1)
    if is_other:
        admin.set_quota(ANYBODY, producer_byte_rate=1_000_000)
    for _ in range(20):
        assert ms(client.produce(2000)) == 0
    assert is_spared(client)
    admin.set_quota(ANYBODY, producer_byte_rate=1000)
    wait_ms = ms(client.produce(12_000))
    assert 1_500 < wait_ms < 60_000
    # What was used while there was a quota was measured, and only that.
    assert (wait_ms > 20_000) is is_other


def test_two_clients_on_one_connection_are_two(world: World) -> None:
    """Stock clients do not do that; who relays others' requests might."""
    noisy, quiet = Client(world, "noisy"), Client(world, "quiet")
    quiet.peer = noisy.peer
    noisy.set_quota({"client-id": "noisy"}, producer_byte_rate=1000)
    for _ in range(4):
        assert ms(quiet.produce(8000)) == 0
    assert [ms(noisy.produce(4000)) > 0 for _ in range(4)] == [False, False, True, True]
    assert ms(quiet.produce(8000)) == 0


def test_a_wall_clock_that_is_set_changes_nobody_s_quota(world: World) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, producer_byte_rate=10_000)
    waits = []
    steps = {20: 3_600_000, 40: -7_200_000, 60: 3_600_000}
    for at in range(150):
        world.clock.step_wall(steps.get(at, 0))
        waits.append(ms(client.produce(1000)))
    assert next(at for at, wait in enumerate(waits) if wait) in range(88, 95)


def test_rates_of_whom_nobody_heard_lately_are_forgotten_with_their_accounts(world: World) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, producer_byte_rate=1_000_000)
    quotas = client.node.quotas
    assert quotas is not None
    client.produce(100)
    client.produce(100)
    kept = client.peer.account
    assert kept is not None
    world.clock.advance(30_000)
    for number in range(10_001):
        quotas.account(Peer("PLAINTEXT", "127.0.0.1"), str(number))
    assert kept.is_void
    client.produce(100)
    assert client.peer.account is not kept


def test_fetches_well_below_their_quota_count_when_it_is_reached(world: World) -> None:
    client = Client(world)
    client.produce(1000)
    client.set_quota(ANYBODY, consumer_byte_rate=10_000)
    waits = [ms(client.fetch()) for _ in range(120)]
    # Ten seconds' worth, of answers that are longer than their one record.
    assert next(at for at, wait in enumerate(waits) if wait) in range(80, 95)
    assert client.ears.is_muted


def test_fetches_of_one_without_a_quota_are_as_ever(world: World) -> None:
    client, admin = Client(world), Client(world, "admin")
    client.produce(500)
    admin.set_quota({"client-id": "somebody else"}, consumer_byte_rate=1)
    assert len(client.fetch().responses) == 1
    assert client.peer.account is not None
    assert client.peer.account.most_fetched is None

"""KIP-714: who is asked for which metrics, how often, and what is taken."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.requests.request import Peer
from kafkapy.broker.telemetry.telemetry import ALL, MOST_CLIENTS, Telemetry, matching
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.protocol.compression.codecs import Codec

CLIENT = UUID(int=7)


def peer() -> Peer:
    return Peer("PLAINTEXT", "10.1.2.3", software_name="librdkafka", software_version="2.12")


def image(**subscriptions: dict[str, str]) -> MetadataImage:
    made = MetadataImage()
    made.all_configs = {(16, name): config for name, config in subscriptions.items()}
    return made


ONE = image(one={"metrics": "org.apache.kafka.producer.", "interval.ms": "1000"})


def push(telemetry: Telemetry, at_ms: int, asked: MetadataImage = ONE, **changes: Any) -> None:
    wanted = matching(asked, CLIENT, "c", peer())
    given = {
        "subscription_id": wanted.id,
        "codec": int(Codec.NONE),
        "data": b"metrics",
        "is_last": False,
        **changes,
    }
    telemetry.push(
        CLIENT,
        given.pop("subscription_id"),
        "c",
        peer(),
        asked,
        Instant(at_ms),
        **given,
    )


def code(work: Any, *args: Any, **kwargs: Any) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        work(*args, **kwargs)
    return caught.value.code


def test_without_a_subscription_a_client_is_asked_for_nothing() -> None:
    wanted = matching(image(), CLIENT, "c", peer())
    assert wanted.metrics == ()
    assert wanted.interval_ms == 300_000


def test_several_subscriptions_are_one() -> None:
    """All prefixes, as often as the most curious wants them."""
    asked = image(
        one={"metrics": "b,a", "interval.ms": "5000"},
        two={"metrics": "c", "interval.ms": "1000"},
        others={"metrics": "d", "interval.ms": "100", "match": "client_id=x.*"},
    )
    assert matching(asked, CLIENT, "c", peer()) == (("a", "b", "c"), 1000)
    assert matching(asked, CLIENT, "xyz", peer()) == (("a", "b", "c", "d"), 100)
    everything = image(one={"metrics": "a"}, two={"metrics": "*"})
    assert matching(everything, CLIENT, "c", peer()).metrics == (ALL,)


@pytest.mark.parametrize(
    ("match", "is_meant"),
    [
        ("client_software_name=librdkafka", True),
        ("client_software_name=apache.*", False),
        ("client_software_version=2.*,client_source_address=10\\..*", True),
        ("client_source_address=10\\.9.*", False),
        (f"client_instance_id={CLIENT}", True),
        ("client_id=other", False),
    ],
)
def test_a_subscription_is_about_those_that_it_matches(match: str, is_meant: bool) -> None:
    asked = image(one={"metrics": "a", "match": match})
    assert bool(matching(asked, CLIENT, "c", peer()).metrics) is is_meant


def test_a_client_may_ask_once_an_interval_or_when_it_is_asked_for_something_else() -> None:
    telemetry = Telemetry(1000)
    args = (CLIENT, "c", peer())
    telemetry.subscribe(*args, ONE, Instant(0))
    too_soon = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert code(telemetry.subscribe, *args, ONE, Instant(999)) == too_soon
    other = image(one={"metrics": "x", "interval.ms": "1000"})
    assert telemetry.subscribe(*args, other, Instant(999)).metrics == ("x",)


def test_what_is_pushed_is_kept_until_the_next() -> None:
    telemetry = Telemetry(1000)
    push(telemetry, 0, data=b"first")
    push(telemetry, 1000, data=b"second")
    ((instance, pushed),) = telemetry.pushed()
    assert (instance, pushed.data, pushed.software) == (CLIENT, b"second", "librdkafka-2.12")


def test_what_is_pushed_too_often_or_is_too_much_is_refused() -> None:
    telemetry = Telemetry(10)
    push(telemetry, 0)
    assert code(push, telemetry, 500) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert code(push, telemetry, 1000, data=b"x" * 11) == ErrorCode.TELEMETRY_TOO_LARGE
    assert code(push, telemetry, 1000, codec=9) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_a_push_under_another_subscription_is_refused_and_the_client_may_ask_at_once() -> None:
    telemetry = Telemetry(1000)
    telemetry.subscribe(CLIENT, "c", peer(), ONE, Instant(0))
    assert code(push, telemetry, 1, subscription_id=5) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    telemetry.subscribe(CLIENT, "c", peer(), ONE, Instant(2))


def test_a_client_that_ends_pushes_once_more_and_is_gone() -> None:
    telemetry = Telemetry(1000)
    push(telemetry, 0)
    push(telemetry, 1, is_last=True)
    assert telemetry.pushed() == []
    assert code(push, telemetry, 5000) == ErrorCode.INVALID_REQUEST


def test_so_many_clients_are_known_and_no_more() -> None:
    telemetry = Telemetry(1000)
    for number in range(MOST_CLIENTS + 10):
        instance = UUID(int=100 + number)
        wanted = matching(ONE, instance, "c", peer())
        telemetry.push(
            instance, wanted.id, "c", peer(), ONE, Instant(0), codec=0, data=b"", is_last=False
        )
    assert len(telemetry.pushed()) == MOST_CLIENTS

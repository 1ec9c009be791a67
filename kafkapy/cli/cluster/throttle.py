"""A limit on what replication may use while replicas move (KIP-73).

Rates are the brokers', lists of who is limited are the topics': at the leader the replicas that
were there before, at the follower those that are new. Who is in sync otherwise is not slowed.
Settings of a broker go to that broker, which looks at them before the controller does.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kafkapy.cli.client import Client, check_all
from kafkapy.cli.cluster.layout import Broker
from kafkapy.cli.cluster.plan import Placement
from kafkapy.cli.main import Failed
from kafkapy.protocol.api_keys import ApiKey

_TOPIC, _BROKER = 2, 4
_SET, _DELETE = 0, 1
_PATIENCE_SECONDS: Final = 10.0
_RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LEADERS: Final = "leader.replication.throttled.replicas"
FOLLOWERS: Final = "follower.replication.throttled.replicas"


def limit(
    client: Client, before: Placement, after: Placement, brokers: Iterable[Broker], rate: int
) -> None:
    """Bytes a second, for each broker in both directions."""
    limit_brokers(brokers, rate)
    topics: dict[str, tuple[list[str], list[str]]] = {}
    for where, replicas in after.items():
        topic, index = where
        leaders, followers = topics.setdefault(topic, ([], []))
        leaders += [f"{index}:{one}" for one in before[where]]
        followers += [f"{index}:{one}" for one in replicas if one not in before[where]]
    changes = {
        topic: {LEADERS: ",".join(leaders), FOLLOWERS: ",".join(followers)}
        for topic, (leaders, followers) in topics.items()
    }
    _alter(client, _TOPIC, changes)


def limit_brokers(brokers: Iterable[Broker], rate: int) -> None:
    for one in brokers:
        alter_broker(one, dict.fromkeys(_RATES, str(rate)))


def lift(client: Client, brokers: Iterable[Broker], topics: Collection[str]) -> None:
    """Nothing is limited any more, whoever limited it. Failed, at the end, for brokers that do
    not answer."""
    _alter(client, _TOPIC, {one: dict.fromkeys((LEADERS, FOLLOWERS)) for one in sorted(topics)})
    missed = []
    for one in brokers:
        try:
            alter_broker(one, dict.fromkeys(_RATES))
        except Failed as failed:
            missed.append(f"the limits of broker {one.broker_id} stay: {failed}")
    if missed:
        raise Failed("; ".join(missed))


def alter_broker(broker: Broker, changes: Mapping[str, str | None]) -> None:
    """Of one that is there; who is fenced moves nothing and need not know."""
    if not broker.is_fenced:
        with Client(broker.address, _PATIENCE_SECONDS) as client:
            _alter(client, _BROKER, {str(broker.broker_id): changes})


def alter_broker_through(
    controller: Client, broker_id: int, changes: Mapping[str, str | None]
) -> None:
    """Of one that is not there: a controller knows its settings, too."""
    _alter(controller, _BROKER, {str(broker_id): changes})


def _alter(client: Client, kind: int, changes: Mapping[str, Mapping[str, str | None]]) -> None:
    """None unsets a setting."""
    if not changes:
        return
    resources = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [
                {
                    "name": key,
                    "config_operation": _DELETE if value is None else _SET,
                    "value": value,
                }
                for key, value in settings.items()
            ],
        }
        for name, settings in changes.items()
    ]
    answer = client.ask(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, {"resources": resources, "validate_only": False}
    )
    what = {_TOPIC: "topic", _BROKER: "broker"}[kind]
    check_all(
        (one.error_code, f"{what} {one.resource_name}", one.error_message)
        for one in answer.responses
    )

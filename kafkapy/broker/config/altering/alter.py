"""What is checked of (Incremental)AlterConfigs before the controller decides.

The broker that gets the request judges what is said of brokers, against its own settings
(broker/controller/judging.py), then hands the rest on.

    what the request alone tells -> may its sender alter that? -> this node's settings and files

As in Apache Kafka a request that is wrong in itself hears so, whoever sent it. Apache Kafka looks
at its settings and opens key stores before it asks who that is; kafkapy does not. `permit`
raises Refused for those who may not.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence

from kafkapy.broker.config.altering.broker_alter import (
    check_appends,
    check_broker_change,
    check_change_alone,
)
from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.resolve import default_text
from kafkapy.broker.config.resources import Resource
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.configs import Alteration, Operation, list_after
from kafkapy.kraft.image.delta import ConfigResource

Permit = Callable[[], None]


def duplicates(resources: Iterable[ConfigResource]) -> dict[ConfigResource, Refused | None]:
    """A verdict on each resource that is named more than once."""
    return {
        resource: Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        for resource, count in Counter(resources).items()
        if count > 1
    }


def is_of_brokers(resource: ConfigResource) -> bool:
    return resource[0] in (Resource.BROKER, Resource.BROKER_LOGGER)


def check_incremental(
    config: BrokerConfig,
    resource: ConfigResource,
    alterations: Sequence[Alteration],
    brokers: Container[int] = (),
    *,
    permit: Permit,
) -> None:
    """`brokers`: those that are registered, whose settings may be altered as this node's may."""
    if resource[0] == Resource.BROKER_LOGGER:
        permit()  # only of loggers that is asked first
    _check_operations(alterations)
    sets = [one for one in alterations if one.operation != Operation.DELETE]
    _check_nulls([one.key for one in sets if one.value is None])
    _check_twice([one.key for one in alterations])
    if resource[0] == Resource.BROKER:
        check_appends([one.key for one in sets if one.operation != Operation.SET])
    _check(
        config,
        resource,
        {one.key: _value_after(config, resource, one) for one in alterations},
        brokers,
        permit,
    )


def _value_after(config: BrokerConfig, resource: ConfigResource, one: Alteration) -> str | None:
    """None: unset, or a list of another broker, which has judged it itself."""
    if one.operation in (Operation.SET, Operation.DELETE):
        return None if one.operation == Operation.DELETE else one.value
    standing = {"": config.cluster_dynamic, str(config.node_id): config.broker_dynamic}
    if resource[0] != Resource.BROKER or resource[1] not in standing:
        return None
    before = standing[resource[1]].get(one.key)
    return list_after(default_text(one.key) if before is None else before, one)


def check_legacy(
    config: BrokerConfig,
    resource: ConfigResource,
    pairs: Sequence[tuple[str, str | None]],
    brokers: Container[int] = (),
    *,
    permit: Permit,
) -> None:
    _check_nulls([key for key, value in pairs if value is None])
    _check_twice([key for key, _ in pairs])
    if resource[0] == Resource.BROKER_LOGGER:
        raise _unknown_type(resource[0])
    _check(config, resource, dict(pairs), brokers, permit)


def _check(
    config: BrokerConfig,
    resource: ConfigResource,
    changes: dict[str, str | None],
    brokers: Container[int],
    permit: Permit,
) -> None:
    kind, name = resource
    if kind == Resource.BROKER:
        if name:
            sentence = "Unexpected broker id, expected {}, but received {}"
            _check_is_known(config, name, brokers, sentence)
        check_change_alone(changes, is_for_all=not name)
        permit()
        # The settings of another broker are not known here; it has judged them itself.
        if not name or int(name) == config.node_id:
            check_broker_change(config, changes)
    elif kind == Resource.BROKER_LOGGER:
        sentence = "Unexpected node id. Expected {}, but received {}"
        _check_is_known(config, name, brokers, sentence)
        for logger in changes:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Logger {logger} does not exist!")
    elif kind in (Resource.TOPIC, Resource.CLIENT_METRICS, Resource.GROUP):
        permit()
    else:
        raise _unknown_type(kind)


def _check_is_known(
    config: BrokerConfig, name: str, brokers: Container[int], sentence: str
) -> None:
    """Which broker the client asked, the controller is not told: any that there is will do."""
    try:
        node_id = int(name)
    except ValueError:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}"
        ) from None
    if node_id != config.node_id and node_id not in brokers:
        raise Refused(ErrorCode.INVALID_REQUEST, sentence.format(config.node_id, node_id))


def _check_operations(alterations: Sequence[Alteration]) -> None:
    for one in alterations:
        if one.operation not in list(Operation):
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)


def _check_nulls(keys: Sequence[str]) -> None:
    if keys:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(keys)}"
        )


def _check_twice(keys: Sequence[str]) -> None:
    if len(set(keys)) != len(keys):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")


def _unknown_type(kind: int) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")

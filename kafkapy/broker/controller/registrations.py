"""Where a node listens and which features it has, as registrations of brokers and controllers say
it: written by who registers, read by the controller."""

from collections.abc import Iterable
from typing import Any

from kafkapy.broker.requests.request import Fields
from kafkapy.kraft.records.metadata import Endpoint, FeatureRange


def listener_fields(endpoints: Iterable[Endpoint]) -> list[Fields]:
    return [
        {
            "name": one.name,
            "host": one.host,
            "port": one.port,
            "security_protocol": one.security_protocol,
        }
        for one in endpoints
    ]


def endpoints_from(listeners: Iterable[Any]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(
            name=one.name,
            host=one.host,
            port=one.port,
            security_protocol=one.security_protocol,
        )
        for one in listeners
    )


def feature_fields(ranges: Iterable[FeatureRange]) -> list[Fields]:
    return [
        {
            "name": one.name,
            "min_supported_version": one.min_supported_version,
            "max_supported_version": one.max_supported_version,
        }
        for one in ranges
    ]


def features_from(features: Iterable[Any]) -> tuple[FeatureRange, ...]:
    return tuple(
        FeatureRange(
            name=one.name,
            min_supported_version=one.min_supported_version,
            max_supported_version=one.max_supported_version,
        )
        for one in features
    )

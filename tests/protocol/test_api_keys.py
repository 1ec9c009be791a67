import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map

from kafkapy.protocol.api_keys import (
    ApiKey,
    is_flexible,
    request_header_version,
    response_header_version,
)


def test_every_key_from_0_to_94_has_a_name() -> None:
    assert [int(key) for key in ApiKey] == list(range(95))


def test_names_are_kafkas_own() -> None:
    assert ApiKey.METADATA.camel_name == "Metadata"
    for key in ApiKey:
        assert key.name.replace("_", "").lower() == key.camel_name.lower()


@pytest.mark.parametrize("name", ["produce", "fetch", "api_versions", "sasl_handshake", "vote"])
def test_header_versions_agree_with_the_schemas(name: str) -> None:
    key = next(key for key, known in api_key_map.items() if known == name)
    for version in schema_name_map[name]:
        request = load_request_schema(key, version)
        response = load_response_schema(key, version)
        assert is_flexible(key, version) == request.__flexible__
        assert request_header_version(key, version) == request.__header_schema__.__version__
        assert response_header_version(key, version) == response.__header_schema__.__version__


def test_only_controlled_shutdown_0_has_the_header_without_a_client_id() -> None:
    assert request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 0) == 0
    assert request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 1) == 1
    assert request_header_version(ApiKey.METADATA, 0) == 1

"""A quota, for as long as something is measured."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.run import Run
from kafkapy.protocol.api_keys import ApiKey


@contextmanager
def produce_quota(
    run: Run, bytes_per_second: float, client_id: str | None = None
) -> Iterator[None]:
    """Of one client id, or of each that has none of its own."""

    def change(*, remove: bool) -> None:
        op = {"key": "producer_byte_rate", "value": bytes_per_second, "remove": remove}
        entity = [{"entity_type": "client-id", "entity_name": client_id}]
        body = {"entries": [{"entity": entity, "ops": [op]}], "validate_only": False}
        answer = run.wire().ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, body)
        assert not answer.entries[0].error_code, answer

    change(remove=False)
    try:
        yield
    finally:
        change(remove=True)

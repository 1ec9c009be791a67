"""What /metrics says of hooks."""

import contextlib

from prometheus_client.parser import text_string_to_metric_families

from kafkapy.core.errors import Refused
from kafkapy.hooks import Client, ConnectionHook, Place, ProduceHook, Record
from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of


class Picky(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        if record.value == b"bad":
            raise ValueError
        return record


class Hears(ConnectionHook):
    def connected(self, client: Client) -> None: ...


def test_hooks_are_counted_by_topic() -> None:
    settings = {**HTTP, "kafkapy.hook.connection": "hears"}
    with Broker(settings, hooks={"picky": Picky, "hears": Hears}) as kafka:
        for topic, hook in (("a", "picky"), ("b", "picky"), ("c", "nobody")):
            kafka.create_topic(topic, config={"kafkapy.hook.produce": hook})
            for value in ("good", "bad", "good"):
                with contextlib.suppress(Refused):
                    kafka.produce(topic, value)
        with client_of(kafka) as client:
            text = client.get("/metrics").text
    told = {
        (sample.name, sample.labels["topic"], sample.labels["hook"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("kafkapy_hook_")
    }
    for topic in ("a", "b"):
        assert told["kafkapy_hook_calls_total", topic, "picky"] == 3
        assert told["kafkapy_hook_failures_total", topic, "picky"] == 1
        assert told["kafkapy_hook_seconds_total", topic, "picky"] > 0
        assert told["kafkapy_hook_off", topic, "picky"] == 0
    assert told["kafkapy_hook_calls_total", "c", "nobody"] == 0
    assert told["kafkapy_hook_off", "c", "nobody"] == 1
    assert told["kafkapy_hook_off", "", "hears"] == 0

"""A hook cannot end a node by raising; a signal can, also while a hook is called."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

HOOKS = """
import os, signal
from kafkapy.hooks import ProduceHook

class Told(ProduceHook):
    def produced(self, record, place):
        os.kill(os.getpid(), signal.SIGINT)
        return record

class Raises(ProduceHook):
    def produced(self, record, place):
        raise KeyboardInterrupt
"""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "its_hooks.py").write_text(HOOKS)
    settings = "kafkapy.hooks=told=its_hooks:Told,raises=its_hooks:Raises"
    with subprocess.Popen(
        [sys.executable, "-m", "kafkapy", "serve", "--listen", "127.0.0.1:0", "--json",
         "--data", str(tmp_path / "data"), "--set", settings],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{os.getcwd()}"},
        text=True,
    ) as started:  # fmt: skip
        yield started
        started.kill()


def test_a_signal_ends_a_node_while_a_hook_is_called_and_what_a_hook_raises_does_not(
    node: subprocess.Popen[str],
) -> None:
    assert node.stdout is not None
    serving = json.loads(node.stdout.readline())
    bootstrap = {"bootstrap.servers": serving["address"]}
    admin = AdminClient(bootstrap)
    topics = [
        NewTopic(name, 1, 1, config={"kafkapy.hook.produce": name}) for name in ("raises", "told")
    ]
    for made in admin.create_topics(topics).values():
        made.result(30)
    outcomes: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        outcomes.append(error)

    producer = Producer(bootstrap | {"message.timeout.ms": 10_000})
    for name in ("raises", "raises", "told"):
        producer.produce(name, b"value", on_delivery=delivered)
        producer.flush(30)
    assert [one is not None and one.code() for one in outcomes[:2]] == [
        KafkaError.POLICY_VIOLATION,
        KafkaError.POLICY_VIOLATION,
    ]
    assert node.wait(30) == 0

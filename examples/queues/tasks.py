"""A task queue, as Celery or RQ are, in fifty lines on a share group.

    tasks = Tasks("127.0.0.1:9092", "tasks")

    @tasks.task
    def mail(to: str) -> None: ...

    mail.delay("ann@example.org")       # anywhere
    tasks.work()                        # in as many processes as there is work for

A task that raises is done again by whoever is free, five times at most (the group's
`share.delivery.count.limit`); so is one whose worker died. Any number of workers share any number
of partitions. A task is a function's name and its arguments as JSON.
"""

import json
import traceback
from collections.abc import Callable
from typing import Any

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer


class Tasks:
    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._topic = bootstrap, topic
        self._functions: dict[str, Callable[..., Any]] = {}
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})

    def task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that can also be done by others, later: `function.delay(...)`."""
        self._functions[function.__name__] = function

        def delay(*arguments: Any, **named: Any) -> None:
            call = json.dumps([function.__name__, arguments, named])
            self._producer.produce(self._topic, call)
            self._producer.flush(30)

        function.delay = delay  # type: ignore[attr-defined]
        return function

    def work(self, until: Callable[[], bool] = lambda: False) -> None:
        explicit = {"share.acknowledgement.mode": "explicit", "group.id": f"{self._topic}.workers"}
        consumer = ShareConsumer({"bootstrap.servers": self._bootstrap, **explicit})
        consumer.subscribe([self._topic])
        try:
            while not until():
                for call in consumer.poll(0.2) or ():
                    if call.error() is None:
                        consumer.acknowledge(call, self._do(call.value() or b""))
                        consumer.commit_sync(30.0)
        finally:
            consumer.close()  # what it has and did not do is for others

    def _do(self, call: bytes) -> AcknowledgeType:
        try:
            name, arguments, named = json.loads(call)
            function = self._functions[name]
        except (ValueError, TypeError, KeyError):
            return AcknowledgeType.REJECT  # no call, or of no function of this release
        try:
            function(*arguments, **named)
        except Exception:
            traceback.print_exc()
            return AcknowledgeType.RELEASE
        return AcknowledgeType.ACCEPT

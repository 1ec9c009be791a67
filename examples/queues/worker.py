"""A work queue on a share group: as many workers as there is work for, whatever the partitions.

What is done is accepted; what may work later is released and comes again, to whomever; what
never will be is rejected. A job that kills its worker comes again when the connection is gone, and
is given up after so many deliveries: a poison message stops nobody for long.
"""

from collections.abc import Callable

from confluent_kafka import AcknowledgeType, Message, ShareConsumer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)


class Hopeless(Exception):
    """This job will never be done, however often it is tried."""


def set_up(bootstrap: str, group: str, deliveries: int = 5) -> None:
    """What a consumer cannot say, because it is the group's: before its first record."""
    values = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": str(deliveries)}
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in values.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


class Worker:
    """`do(job)` does it, raises Hopeless, or anything else if it may work another time."""

    def __init__(self, bootstrap: str, topic: str, group: str, do: Callable[[bytes], None]) -> None:
        self._do = do
        self._consumer = ShareConsumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "share.acknowledgement.mode": "explicit",
            }
        )
        self._consumer.subscribe([topic])

    def work(self, seconds: float = 1.0) -> int:
        """Wait so long for jobs, and do what came; how many were there."""
        jobs = [one for one in self._consumer.poll(seconds) or () if one.error() is None]
        for job in jobs:
            self._consumer.acknowledge(job, self.judge(job))
        if jobs:
            self._consumer.commit_sync(30.0)
        return len(jobs)

    def close(self) -> None:
        """What it has and did not acknowledge is for others, at once."""
        self._consumer.close()

    def judge(self, job: Message) -> AcknowledgeType:
        try:
            self._do(job.value() or b"")
        except Hopeless:
            return AcknowledgeType.REJECT
        except Exception:
            return AcknowledgeType.RELEASE
        return AcknowledgeType.ACCEPT

"""What is urgent first, and what is not at last: one worker, several topics, a weight each.

A stock share consumer subscribes to all of them; the node hands out what counts as having waited
longest, its topic's weight times as long as it has (docs/QUEUES.md, Priorities).
"""

from collections.abc import Iterator

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer
from confluent_kafka.admin import AdminClient, NewTopic

WEIGHTS = {"urgent": 100, "usual": 10, "bulk": 1}
# One topic for producers who would rather say it in a header: the node sorts what is in it.
INBOX = "jobs"
_SORTED = {
    "kafkapy.relay.to": "urgent",
    "kafkapy.relay.where": "headers.priority = 'urgent'",
    "kafkapy.relay.otherwise": "bulk",
}


def set_up(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = {name: {"kafkapy.share.weight": str(weight)} for name, weight in WEIGHTS.items()}
    for name, config in {**topics, INBOX: _SORTED}.items():
        wanted = NewTopic(name, num_partitions=1, config=config)
        admin.create_topics([wanted])[name].result(30)


def send(bootstrap: str, topic: str, jobs: list[str], priority: str | None = None) -> None:
    """To the topic of a level, or to INBOX with the level as a header."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for job in jobs:
        producer.produce(topic, job, headers={"priority": priority} if priority else None)
    producer.flush(30)


def work(bootstrap: str, group: str) -> Iterator[tuple[str, str]]:
    """(level, job) as they come, for ever; each is done when the next one is asked for."""
    consumer = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            # Few at a time, so that what becomes urgent need not wait for what was fetched before.
            "max.poll.records": 1,
        }
    )
    consumer.subscribe(list(WEIGHTS))
    try:
        while True:
            for job in consumer.poll(0.2) or ():
                if job.error() is None:
                    yield job.topic() or "", (job.value() or b"").decode()
                    consumer.acknowledge(job, AcknowledgeType.ACCEPT)
                    consumer.commit_sync(30.0)
    finally:
        consumer.close()

"""What changed in the image: gathered while records are applied, told once per batch.

A delta names what changed and keeps how it was *before*; how it is now stands in the
image. Subscribers get both. What came and went within one delta is not in it.
"""

from uuid import UUID

from kafkapy.kraft.image.registrations import BrokerRegistration
from kafkapy.kraft.image.topics import PartitionState, TopicState
from kafkapy.kraft.records.metadata import QuotaEntity

ConfigResource = tuple[int, str]


class Delta:
    """The difference that some records made.

    topics_created  now in the image
    topics_deleted  as they were, with their partitions
    partitions      changed ones of every topic that is still there, as they were; None: new
    configs         resources (type, name) with a changed config
    brokers         changed registrations as they were; None: newly registered
    controllers     ids of controllers whose registration changed
    features        names of features whose level changed
    """

    __slots__ = (
        "acls",
        "brokers",
        "configs",
        "controllers",
        "features",
        "has_producer_ids",
        "partitions",
        "quotas",
        "scram_users",
        "tokens",
        "topics_created",
        "topics_deleted",
    )

    def __init__(self) -> None:
        self.topics_created: dict[UUID, TopicState] = {}
        self.topics_deleted: dict[UUID, TopicState] = {}
        self.partitions: dict[UUID, dict[int, PartitionState | None]] = {}
        self.configs: set[ConfigResource] = set()
        self.brokers: dict[int, BrokerRegistration | None] = {}
        self.controllers: set[int] = set()
        self.features: set[str] = set()
        self.quotas: set[tuple[QuotaEntity, ...]] = set()
        self.acls: set[UUID] = set()
        self.scram_users: set[str] = set()
        self.tokens: set[str] = set()
        self.has_producer_ids = False

    @property
    def is_empty(self) -> bool:
        return not self.has_producer_ids and not any(
            getattr(self, name) for name in self.__slots__ if name != "has_producer_ids"
        )

    # -- called by the image alone -----------------------------------------------------

    def topic_created(self, topic: TopicState) -> None:
        self.topics_created[topic.id] = topic

    def topic_deleted(self, topic: TopicState) -> None:
        touched = self.partitions.pop(topic.id, {})
        if self.topics_created.pop(topic.id, None) is not None:
            return
        was = topic.copy()  # another image may still have it
        for index, before in touched.items():
            if before is None:
                del was.partitions[index]
            else:
                was.partitions[index] = before
        self.topics_deleted[topic.id] = was

    def partition_changed(self, topic_id: UUID, index: int, before: PartitionState | None) -> None:
        touched = self.partitions.get(topic_id)
        if touched is None:
            self.partitions[topic_id] = {index: before}
        else:
            touched.setdefault(index, before)

    def broker_changed(self, broker_id: int, before: BrokerRegistration | None) -> None:
        self.brokers.setdefault(broker_id, before)

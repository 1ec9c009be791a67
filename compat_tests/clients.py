"""The clients of the suite: folder, name and pinned version of each, in the report's order."""

from typing import NamedTuple

from compat_tests.installation import SPARK_VERSION


class Client(NamedTuple):
    """One column of docs/COMPAT.md."""

    folder: str
    title: str
    version: str


CLIENTS = (
    Client("confluent_kafka", "confluent-kafka (librdkafka)", "2.16.1"),
    Client("kafka_python", "kafka-python", "3.0.12"),
    Client("aiokafka", "aiokafka", "0.14.0"),
    Client("java_consumer", "Apache Kafka's consumer (Java)", "4.3.1"),
    Client("java_tools", "Apache Kafka's tools (Java)", "4.3.1"),
    Client("java_4_4", "Java clients 4.4", "4.4.0"),
    Client("java_3_9", "Java clients 3.9", "3.9.1"),
    Client("kafka_connect", "Kafka Connect", "4.3.1"),
    Client("kafka_streams", "Kafka Streams", "4.3.1"),
    Client("franz_go", "franz-go", "1.22.2"),
    Client("sarama", "sarama", "1.61.1"),
    Client("kafka_go", "segmentio/kafka-go", "0.4.51"),
    Client("kafkajs", "KafkaJS", "2.2.4"),
    Client("kcat", "kcat", "1.7.1"),
    Client("spark_examples", "Spark", SPARK_VERSION),
)

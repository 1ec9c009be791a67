"""Logging in over TLS: every setting of Kafka's clients, with `kafka.` before it.

The driver and each executor connect by themselves: files that the settings name must be there on
all of them, so the certificate of the authority may as well stand in the settings.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafkapy.testing import SecuredBroker
from spark_examples.session import spark_session

_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


def options(bootstrap: str, user: str, password: str, authority_pem: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-256",
        "kafka.sasl.jaas.config": f'{_MODULE} required username="{user}" password="{password}";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": authority_pem,
    }


def write(spark: SparkSession, login: Mapping[str, str], topic: str, count: int) -> None:
    records = spark.range(count).select(F.col("id").cast("string").alias("value"))
    records.write.format("kafka").options(**login).option("topic", topic).save()


def read(spark: SparkSession, login: Mapping[str, str], topic: str) -> DataFrame:
    reader = spark.read.format("kafka").options(**login).option("subscribe", topic)
    return reader.load().select(F.col("value").cast("string").cast("long").alias("number"))


def main() -> None:
    with SecuredBroker() as kafka, spark_session("secured") as spark:
        kafka.create_topic("numbers")
        password = kafka.users.add("alice")
        kafka.acls.allow("alice", "read", "write", topic="numbers")
        # Spark reads in a group of its own, by a name that begins so.
        kafka.acls.allow("alice", "read", group="spark-kafka", prefixed=True)
        login = options(
            kafka.bootstrap, "alice", password, kafka.certificates.authority.read_text()
        )
        write(spark, login, "numbers", 1000)
        read(spark, login, "numbers").agg(F.count("*"), F.sum("number")).show()


if __name__ == "__main__":
    main()

"""The schema registry beside a node (kafkapy/http/registry). Apache Kafka has no such keys."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import string
from kafkapy.broker.config.table.validators import OneOf

LEVELS = (
    *("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE"),
    *("FULL", "FULL_TRANSITIVE"),
)


class RegistryKeys(Section):
    schema_registry_topic = string(
        "_schemas",
        "Topic that the schema registry keeps what it knows in; made when it is first written to.",
    )
    schema_registry_compatibility_level = string(
        "BACKWARD",
        "Which earlier schemas of its subject a new one is compared with, where nobody has set it"
        " in the registry.",
        valid=OneOf(*LEVELS),
    )

"""Settings of a topic whose records must have schemas that are registered.

They are Confluent Server's; Apache Kafka knows none of them, so they are shown only where they are
set (docs/REGISTRY.md).
"""

from typing import Final

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, string
from kafkapy.broker.config.table.validators import OneOf

_PACKAGE: Final = "io.confluent.kafka.serializers.subject."
TOPIC_NAME: Final = f"{_PACKAGE}TopicNameStrategy"
RECORD_NAME: Final = f"{_PACKAGE}RecordNameStrategy"
TOPIC_RECORD_NAME: Final = f"{_PACKAGE}TopicRecordNameStrategy"
_STRATEGIES: Final = OneOf(TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME)


class SchemaKeys(Section):
    confluent_key_schema_validation = boolean(
        False, "Whether keys must have the id of a schema that is registered.", internal=True
    )
    confluent_value_schema_validation = boolean(
        False, "Whether values must have the id of a schema that is registered.", internal=True
    )
    confluent_key_subject_name_strategy = string(
        TOPIC_NAME, "Under which subject keys' schemas are.", valid=_STRATEGIES, internal=True
    )
    confluent_value_subject_name_strategy = string(
        TOPIC_NAME, "Under which subject values' schemas are.", valid=_STRATEGIES, internal=True
    )

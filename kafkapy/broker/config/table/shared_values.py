"""Values and reasons that many rows of the table share."""

import sys
from typing import Final

from kafkapy.broker.config.table.key import Dynamic, Importance

MAX_INT: Final = 2**31 - 1
MAX_LONG: Final = 2**63 - 1
MAX_DOUBLE: Final = sys.float_info.max

CLUSTER_WIDE: Final = Dynamic.CLUSTER_WIDE
PER_BROKER: Final = Dynamic.PER_BROKER
HIGH: Final = Importance.HIGH
LOW: Final = Importance.LOW

# The replica.selector.class that is known, by its name.
RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

# Why a key is accepted without being acted on, and why nobody misses what it would do. One that
# somebody would rely on is no row with a reason here but is refused: refusals.py.
BY_SIZE: Final = "kafkapy closes segments of the metadata log by their size."
FIXED_SAMPLES: Final = "kafkapy always measures over eleven samples of a second."
LISTENS_AT_ONCE: Final = "kafkapy opens all its listeners at once."
NOTHING_UNSTABLE: Final = "kafkapy serves nothing that is unstable."
NO_DEADLINE: Final = "kafkapy starts without a deadline."
NO_JAVA: Final = "kafkapy loads no Java classes."
NO_JMX: Final = "kafkapy counts its metrics in its own way."
NO_KERBEROS: Final = "kafkapy does not speak Kerberos."
NO_LINGER: Final = "kafkapy writes together what comes together, without waiting for more."
NO_ASSERTIONS: Final = "kafkapy asks for tokens by client credentials, not by assertions."
NO_PURGATORY: Final = "What waits in kafkapy is dropped as soon as it is answered."
NO_RESERVING: Final = "kafkapy leaves reserving space to the file system."
NO_THREADS: Final = "kafkapy has no such thread pool."
NO_TIERS: Final = "kafkapy has no tiered storage, and switching it on is refused."
OPENSSLS_OWN: Final = "It is about Java's TLS; kafkapy uses OpenSSL's."
OF_KAFKAS_TESTS: Final = "Only Apache Kafka's own tests set it."
ONE_TIMEOUT: Final = "Connections between kafkapy nodes use request.timeout.ms."
OWN_BUFFERS: Final = "kafkapy sizes such buffers itself."
SNAPSHOTS_ALL: Final = (
    "kafkapy takes snapshots of quiet share partitions whenever it prunes their topic."
)
SYSTEM_BUFFERS: Final = "kafkapy leaves it to the operating system."

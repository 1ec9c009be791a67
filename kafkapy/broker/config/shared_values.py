"""Values and reasons that many rows of the table share."""

import sys
from typing import Final

from kafkapy.broker.config.key import Dynamic, Importance

MAX_INT: Final = 2**31 - 1
MAX_LONG: Final = 2**63 - 1
MAX_DOUBLE: Final = sys.float_info.max

CLUSTER_WIDE: Final = Dynamic.CLUSTER_WIDE
PER_BROKER: Final = Dynamic.PER_BROKER
HIGH: Final = Importance.HIGH
LOW: Final = Importance.LOW

# Why a key is accepted without being acted on.
LISTENS_AT_ONCE: Final = "kafkapy opens all its listeners at once."
NO_COMPARING: Final = "kafkapy does not compare a certificate with the one before it."
NO_DEADLINE: Final = "kafkapy starts without a deadline."
NO_JAVA: Final = "kafkapy loads no Java classes."
NO_JMX: Final = "kafkapy counts its metrics in its own way."
NO_KERBEROS: Final = "kafkapy does not speak Kerberos."
NO_OAUTH: Final = "kafkapy does not speak OAUTHBEARER."
NO_PURGATORY: Final = "What waits in kafkapy is dropped as soon as it is answered."
NO_RESERVING: Final = "kafkapy leaves reserving space to the file system."
NO_THREADS: Final = "kafkapy has no such thread pool."
NOT_YET: Final = "kafkapy does not act on it yet."
NO_TIERS: Final = "kafkapy has no tiered storage."
ONE_TIMEOUT: Final = "Connections between kafkapy nodes use request.timeout.ms."
OPENSSL: Final = "kafkapy's TLS is OpenSSL's."
OWN_BUFFERS: Final = "kafkapy sizes such buffers itself."

"""What `kafkapy doctor` may find. Each name is a section of docs/DOCTOR.md, which tells what
it does to a cluster and what to do; what is said here is about the one case."""

from enum import Enum
from typing import Final, NamedTuple


class Level(Enum):
    """A problem loses something or keeps somebody out; a warning will, one day."""

    PROBLEM = "problem"
    WARNING = "warning"


NAMES: Final = {
    "configuration-refused": Level.PROBLEM,
    "port-in-use": Level.PROBLEM,
    "address-not-here": Level.PROBLEM,
    "advertised-name-unknown": Level.PROBLEM,
    "advertised-unreachable": Level.PROBLEM,
    "advertised-loopback": Level.PROBLEM,
    "advertised-another-node": Level.PROBLEM,
    "advertised-elsewhere": Level.WARNING,
    "security-protocol-differs": Level.PROBLEM,
    "certificate-unusable": Level.PROBLEM,
    "certificate-of-another-name": Level.PROBLEM,
    "certificate-expired": Level.PROBLEM,
    "certificate-expires-soon": Level.WARNING,
    "certificate-not-trusted": Level.PROBLEM,
    "login-not-offered": Level.PROBLEM,
    "login-refused": Level.PROBLEM,
    "password-in-the-clear": Level.WARNING,
    "not-permitted": Level.WARNING,
    "no-majority": Level.PROBLEM,
    "voter-missing": Level.WARNING,
    "voter-name-unknown": Level.PROBLEM,
    "even-quorum": Level.WARNING,
    "broker-fenced": Level.PROBLEM,
    "partitions-not-whole": Level.WARNING,
    "cluster-id-differs": Level.PROBLEM,
    "clock-differs": Level.WARNING,
    "directory-unusable": Level.PROBLEM,
    "disk-nearly-full": Level.WARNING,
    "fsync-slow": Level.WARNING,
    "few-open-files": Level.WARNING,
    "short-backlog": Level.WARNING,
    "eager-swap": Level.WARNING,
    "little-memory": Level.WARNING,
}


class Finding(NamedTuple):
    """`about`: a broker, a listener, a directory. `do` is one sentence."""

    name: str
    about: str
    what: str
    do: str

    @property
    def level(self) -> Level:
        return NAMES[self.name]

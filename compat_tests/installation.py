"""Apache Kafka's jars on this machine: fetched once through Maven, kept in a cache.

    <cache>/apache-kafka-4.3.1/libs/*.jar      the server, its tools and its shell
                               server.jsa      the JVM's own cache of loaded classes, which
                               tools.jsa       halves the start of the server and of a tool
    <cache>/kafka-clients-4.4.0/libs/*.jar     Java clients of other versions
    <cache>/spark-kafka-4.0.0/libs/*.jar       what PySpark lacks to speak to Kafka

The cache is ~/.cache/kafkapy, or what KAFKAPY_CACHE says. Only the standard library is
used here: `scripts/oracle` runs before anything is installed.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KAFKA_VERSION = "4.3.1"
_LOG4J_VERSION = "2.25.3"

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>kafkapy</groupId><artifactId>{name}</artifactId><version>1</version>
<packaging>pom</packaging>
<dependencies>
{dependencies}
</dependencies>
</project>
"""

_LOG4J = """\
status=error
rootLogger.level=${sys:kafkapy.log.level:-warn}
rootLogger.appenderRef.c.ref=C
appender.c.type=Console
appender.c.name=C
appender.c.target=SYSTEM_ERR
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=%d %p %m (%c)%n%throwable
"""


class Unavailable(Exception):
    """What would be needed is not on this machine; the message is the reason to print."""


@dataclass(frozen=True)
class Bundle:
    """Jars that go together: a name for the directory, and Maven coordinates."""

    name: str
    coordinates: tuple[str, ...]
    with_dependencies: bool = True

    @property
    def directory(self) -> Path:
        return cache() / self.name

    @property
    def libs(self) -> Path:
        return self.directory / "libs"

    @property
    def class_path(self) -> str:
        return f"{self.libs}/*"

    @property
    def is_there(self) -> bool:
        return self.libs.is_dir()


APACHE_KAFKA = Bundle(
    f"apache-kafka-{KAFKA_VERSION}",
    (
        f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
        f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
        f"org.apache.kafka:kafka-shell:{KAFKA_VERSION}",
        f"org.apache.logging.log4j:log4j-slf4j-impl:{_LOG4J_VERSION}",
    ),
)
# Kafka's clients speak SLF4J 1 up to 4.3, where this binding stays silent without warnings.
JAVA_CLIENTS = {
    version: Bundle(
        f"kafka-clients-{version}",
        (
            f"org.apache.kafka:kafka-clients:{version}",
            f"org.apache.logging.log4j:log4j-slf4j-impl:{_LOG4J_VERSION}",
        ),
    )
    for version in ("4.4.0", KAFKA_VERSION, "3.9.1")
}
KAFKA_STREAMS = Bundle(
    f"kafka-streams-{KAFKA_VERSION}",
    (
        f"org.apache.kafka:kafka-streams:{KAFKA_VERSION}",
        f"org.apache.logging.log4j:log4j-slf4j-impl:{_LOG4J_VERSION}",
    ),
)
KAFKA_CONNECT = Bundle(
    f"kafka-connect-{KAFKA_VERSION}",
    (
        f"org.apache.kafka:connect-runtime:{KAFKA_VERSION}",
        f"org.apache.kafka:connect-file:{KAFKA_VERSION}",
        f"org.apache.logging.log4j:log4j-slf4j-impl:{_LOG4J_VERSION}",
    ),
)
# All that PySpark's own jars lack for Kafka and Avro. Spark's parent POM names a repository
# that a closed network may not reach, so Maven is asked for each jar and for nothing behind it.
SPARK_VERSION = "4.0.0"
SPARK_KAFKA = Bundle(
    f"spark-kafka-{SPARK_VERSION}",
    (
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}",
        f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{SPARK_VERSION}",
        f"org.apache.spark:spark-avro_2.13:{SPARK_VERSION}",
        "org.apache.kafka:kafka-clients:3.9.1",
        "org.apache.commons:commons-pool2:2.12.0",
    ),
    with_dependencies=False,
)


# Confluent's Avro serializers, 7.9.5, with the clients that they were made for: inside of a plug-in
# of Apache Pinot's, under their own names. By themselves they lie in Confluent's repository.
CONFLUENT_AVRO = Bundle(
    "confluent-avro-7.9.5",
    ("org.apache.pinot:pinot-confluent-avro:1.5.0:jar:shaded",),
    with_dependencies=False,
)


def cache() -> Path:
    """Where fetched jars are kept between runs and between clones."""
    return Path(os.environ.get("KAFKAPY_CACHE", "~/.cache/kafkapy")).expanduser()


def why_no_java() -> str | None:
    """The reason that no Java program can be started here, or None."""
    if shutil.which("java") is None:
        return "no java on the PATH (Apache Kafka needs Java 17 or newer)"
    return None


def why_not(bundle: Bundle = APACHE_KAFKA) -> str | None:
    """The reason that `bundle` cannot be used here even after a fetch, or None."""
    if (reason := why_no_java()) is not None:
        return reason
    if not bundle.is_there and shutil.which("mvn") is None:
        return f"no mvn on the PATH to fetch {bundle.name}"
    return None


def require(bundle: Bundle = APACHE_KAFKA) -> Bundle:
    """The bundle, fetched if need be."""
    if (reason := why_not(bundle)) is not None:
        raise Unavailable(reason)
    with _only_one_fetches(bundle):
        if not bundle.is_there:
            _fetch(bundle)
    return bundle


def log4j_properties(bundle: Bundle) -> Path:
    return bundle.directory / "log4j2.properties"


def _fetch(bundle: Bundle) -> None:
    """Let Maven copy the jars beside their place, then move them there in one step."""
    with tempfile.TemporaryDirectory(dir=cache(), prefix="fetch-") as scratch:
        build = Path(scratch)
        if bundle.with_dependencies:
            dependencies = "\n".join(map(_dependency, bundle.coordinates))
            (build / "pom.xml").write_text(_POM.format(name=bundle.name, dependencies=dependencies))
            _run_maven(bundle, build, "dependency:copy-dependencies")
        else:
            for coordinate in bundle.coordinates:
                _run_maven(bundle, build, "dependency:copy", f"-Dartifact={coordinate}")
        bundle.directory.mkdir(exist_ok=True)
        log4j_properties(bundle).write_text(_LOG4J)
        (build / "libs").rename(bundle.libs)


def _run_maven(bundle: Bundle, build: Path, *goal: str) -> None:
    done = subprocess.run(
        ["mvn", "-q", "-B", *goal, f"-DoutputDirectory={build / 'libs'}"],
        cwd=build,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise Unavailable(f"Maven could not fetch {bundle.name}: {' / '.join(lines[:3])}")


def _dependency(coordinate: str) -> str:
    group, artifact, version = coordinate.split(":")
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
    )


@contextmanager
def _only_one_fetches(bundle: Bundle) -> Iterator[None]:
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f"{bundle.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

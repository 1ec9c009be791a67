"""Settings from environment variables, for containers: `kafkapy serve --environment`.

    KAFKA_LOG_RETENTION_MS=1000     log.retention.ms, by the names of the apache/kafka image
    KAFKAPY_LOG_RETENTION_MS=1000   the same, and stronger
    CLUSTER_ID=...                  empty directories are formatted for this cluster
    KAFKAPY_LOG_FORMAT=json         the node's own lines as JSON

`_` stands for a dot, `__` for an underscore, `___` for a hyphen. What that image does beyond
names is done here too: a mounted server.properties lies under the variables, `listeners` comes
from `advertised.listeners` if nobody says it, and variables that only a JVM reads are no
settings. Unlike there, a node without process.roles is a cluster of one, and log.dirs is the
image's volume.
"""

import os
import re
from collections.abc import Mapping
from typing import Final

from kafkapy.broker.config.properties import parse_properties

# The directories of docker/Dockerfile; the first is also where apache/kafka looks.
MOUNTED_CONFIG: Final = "/mnt/shared/config/server.properties"
VOLUME: Final = "/var/lib/kafka/data"

# What apache/kafka takes for the nodes of a cluster that nobody gave an id.
COMMON_CLUSTER_ID: Final = "5L6g3nShT-eMCtK--X86sw"
CLUSTER_ID: Final = "CLUSTER_ID"
LOG_FORMAT: Final = "KAFKAPY_LOG_FORMAT"

_LISTEN: Final = "PLAINTEXT://:9092"
_ADVERTISED: Final = "PLAINTEXT://localhost:9092"
_OWN_CONTROLLER: Final = "CONTROLLER://127.0.0.1:9093"
_HOST: Final = re.compile(r"://(\[[^]]*\]|[^:,]*):")

# Where that image looks for files that KAFKA_SSL_..._FILENAME and ..._CREDENTIALS name: of the
# latter what stands in them is the password.
SECRETS: Final = "/etc/kafka/secrets"
_STORES: Final = {
    "ssl.keystore.filename": "ssl.keystore.location",
    "ssl.truststore.filename": "ssl.truststore.location",
}
_PASSWORDS: Final = {
    "ssl.key.credentials": "ssl.key.password",
    "ssl.keystore.credentials": "ssl.keystore.password",
    "ssl.truststore.credentials": "ssl.truststore.password",
}

# Of the image or of a JVM, not of the server.
_NO_SETTINGS: Final = {
    "KAFKA_VERSION",
    "KAFKA_HEAP_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_OPTS",
    "KAFKA_JMX_OPTS",
    "KAFKA_JMX_PORT",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_CLUSTER_ID",
    LOG_FORMAT,
    "KAFKAPY_BOOTSTRAP_SERVER",
    "KAFKAPY_COMMAND_CONFIG",
    "KAFKAPY_COMPILE",
    "KAFKAPY_COMPILED",
    "KAFKAPY_PROJECT_URL",
}
# What Kubernetes tells every container about a service that is called kafka or kafkapy.
_OF_KUBERNETES: Final = re.compile(
    r"(KAFKA|KAFKAPY)_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP)(_\w+)?)"
)


def from_environment(
    variables: Mapping[str, str],
    mounted: Mapping[str, str],
    alone: Mapping[str, str],
    volume: str = VOLUME,
    secrets: str = SECRETS,
) -> dict[str, str]:
    """What would stand in server.properties. `mounted`: of a file, under the variables.
    `alone`: what a node is that was given no role."""
    settings = {**mounted, **_named(variables, "KAFKA_"), **_named(variables, "KAFKAPY_")}
    is_alone = "process.roles" not in settings
    if is_alone:
        settings = {**alone, **settings}
    _find_secrets(settings, secrets)
    _complete_listeners(settings, is_alone=is_alone)
    if "log.dirs" not in settings and "log.dir" not in settings:
        settings["log.dirs"] = volume
    return settings


def cluster_id_of(variables: Mapping[str, str], settings: Mapping[str, str]) -> str | None:
    """Which cluster this node's data is for. None: whichever it belongs to, and a node that
    names nobody else founds one of its own."""
    given = variables.get(CLUSTER_ID)
    if given or _is_one_node(settings) or _is_formatted(settings):
        return given or None
    return COMMON_CLUSTER_ID


def setting_name(variable: str) -> str:
    """Without its prefix: LOG_DIRS is log.dirs."""
    dotted = variable.lower().replace("_", ".")
    return dotted.replace("...", "-").replace("..", "_")


def _named(variables: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        setting_name(name.removeprefix(prefix)): _value(text)
        for name, text in variables.items()
        if name.startswith(prefix)
        and name not in _NO_SETTINGS
        and _OF_KUBERNETES.fullmatch(name) is None
    }


def _value(text: str) -> str:
    """As if it stood in server.properties, where the image of Apache Kafka puts it: a
    backslash escapes. A value of several lines could not stand there, and is taken as it is."""
    if "\n" in text or "\\" not in text:
        return text
    return parse_properties(f"it={text}")["it"]


def _find_secrets(settings: dict[str, str], directory: str) -> None:
    """OSError if a file is not there."""
    for given, name in _STORES.items():
        if given in settings:
            settings[name] = f"{directory}/{settings.pop(given)}"
    for given, name in _PASSWORDS.items():
        if given in settings:
            with open(f"{directory}/{settings.pop(given)}", encoding="utf-8") as file:
                settings[name] = file.read().strip()


def _complete_listeners(settings: dict[str, str], *, is_alone: bool) -> None:
    if is_alone and not settings.get("listeners") and not settings.get("advertised.listeners"):
        settings["listeners"] = _LISTEN
        settings["advertised.listeners"] = _ADVERTISED
    advertised = settings.get("advertised.listeners")
    if not settings.get("listeners") and advertised and settings["process.roles"] != "controller":
        settings["listeners"] = _HOST.sub("://0.0.0.0:", advertised)
    controllers = _names(settings.get("controller.listener.names", ""))
    listening = {one.partition("://")[0] for one in _names(settings.get("listeners", ""))}
    if is_alone and "CONTROLLER" in controllers and not controllers & listening:
        settings["listeners"] += f",{_OWN_CONTROLLER}"


def _names(text: str) -> set[str]:
    return {one.strip() for one in text.split(",")}


def _is_one_node(settings: Mapping[str, str]) -> bool:
    """Nobody else is named: such a node may found a cluster, with an id of its own."""
    voters = settings.get("controller.quorum.voters", "")
    others = settings.get("controller.quorum.bootstrap.servers", "")
    return "," not in voters + others and "controller" in settings["process.roles"]


def _is_formatted(settings: Mapping[str, str]) -> bool:
    directories = settings.get("metadata.log.dir") or settings.get("log.dirs", "")
    return os.path.exists(f"{directories.partition(',')[0].strip()}/meta.properties")

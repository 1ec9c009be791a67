"""`KafkapyContainer`: a broker in a container, for tests across processes or languages.

    with KafkapyContainer() as kafka:
        Producer({"bootstrap.servers": kafka.get_bootstrap_server()})

For the extra `kafkapy[containers]` (testcontainers). The port on the host is Docker's to choose
and known once the container runs, but must be advertised by the broker: so the container waits
until it is told. Tests in one Python process do better without Docker: `kafkapy.testing.Broker`.
"""

import time
from typing import Any, Final, Self

from docker.errors import APIError
from testcontainers.core.container import DockerContainer

DEFAULT_IMAGE: Final = "kafkapy"
_PORT: Final = 9092
_INSIDE_PORT: Final = 19092
_TOLD: Final = "/tmp/advertised"
# The host's name is the container's: others in its network know it by that.
_WAIT_AND_SERVE: Final = (
    f"until [ -s {_TOLD} ]; do sleep 0.02; done; "
    f"KAFKAPY_ADVERTISED_LISTENERS=INSIDE://$(hostname):{_INSIDE_PORT},OUTSIDE://$(cat {_TOLD}) "
    "exec kafkapy serve --environment"
)
_START_SECONDS: Final = 60.0


class CannotServe(Exception):
    """What the container said is in the message."""


class KafkapyContainer(DockerContainer):
    """One node; `with_env("KAFKAPY_NUM_PARTITIONS", "3")` sets what it is told of Kafka's
    settings."""

    def __init__(self, image: str = DEFAULT_IMAGE, **kwargs: Any) -> None:
        super().__init__(image, **kwargs)
        self.with_exposed_ports(_PORT)
        self.with_env("KAFKAPY_LISTENERS", f"INSIDE://:{_INSIDE_PORT},OUTSIDE://:{_PORT}")
        self.with_env(
            "KAFKAPY_LISTENER_SECURITY_PROTOCOL_MAP",
            "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        )
        self.with_env("KAFKAPY_INTER_BROKER_LISTENER_NAME", "INSIDE")
        self.with_command(["sh", "-c", _WAIT_AND_SERVE])

    def start(self, timeout_seconds: float = _START_SECONDS) -> Self:
        """Return once it serves; CannotServe, with what it said, if it does not."""
        super().start()
        give_up_at = time.monotonic() + timeout_seconds
        try:
            self.exec(["sh", "-c", f"echo {self.get_bootstrap_server()} > {_TOLD}"])
            while self.exec(["kafkapy", "health", "--environment"]).exit_code != 0:
                if time.monotonic() > give_up_at:
                    raise CannotServe(f"not within {timeout_seconds} s")
        except (APIError, CannotServe) as failed:  # APIError: it runs no more
            said = b"".join(self.get_logs()).decode(errors="replace")
            self.stop()
            raise CannotServe(f"{failed}\n{said}") from None
        return self

    def get_bootstrap_server(self) -> str:
        """For programs on this host."""
        return f"{self.get_container_host_ip()}:{self.get_exposed_port(_PORT)}"

    def get_inside_bootstrap_server(self) -> str:
        """For other containers of the network that this one is in."""
        container_id = self.get_wrapped_container().id
        return f"{str(container_id)[:12]}:{_INSIDE_PORT}"

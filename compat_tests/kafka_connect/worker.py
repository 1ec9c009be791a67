"""A distributed Connect worker as a process, and its REST interface."""

import http.client
import json
from pathlib import Path
from typing import Any

from compat_tests.installation import KAFKA_CONNECT, log4j_properties, require
from compat_tests.processes import Process
from compat_tests.waiting import free_port, wait_for

_PATIENCE_S = 120.0


class Worker:
    """Connect keeps everything in three topics: a worker started again goes on from there."""

    def __init__(self, directory: Path, broker: str, name: str) -> None:
        self._directory = directory
        self._port = free_port()
        self._process: Process | None = None
        self._settings = {
            "bootstrap.servers": broker,
            "group.id": f"connect-{name}",
            "listeners": f"http://127.0.0.1:{self._port}",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "exactly.once.source.support": "enabled",
            "offset.flush.interval.ms": "500",
            "plugin.discovery": "only_scan",
            "connector.client.config.override.policy": "All",
            "scheduled.rebalance.max.delay.ms": "0",
        }
        for use in ("config", "offset", "status"):
            self._settings[f"{use}.storage.topic"] = f"connect-{name}-{use}"
            self._settings[f"{use}.storage.replication.factor"] = "1"

    @property
    def log(self) -> Path:
        return self._directory / "worker.log"

    def start(self) -> None:
        bundle = require(KAFKA_CONNECT)
        file = self._directory / "worker.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in self._settings.items()))
        command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1"]
        command.append(f"-Dlog4j2.configurationFile={log4j_properties(bundle)}")
        command += ["-cp", bundle.class_path, "org.apache.kafka.connect.cli.ConnectDistributed"]
        self._process = Process([*command, str(file)], log=self.log)
        wait_for("the worker answers", self._answers, timeout_s=_PATIENCE_S)

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None

    def add(self, name: str, settings: dict[str, str]) -> None:
        """Create a connector; a worker that is just joining its group is asked again."""

        def accepted() -> bool:
            status, told = self.ask("PUT", f"/connectors/{name}/config", settings)
            assert status in (200, 201, 404, 409, 500, 503), told
            return status in (200, 201)

        wait_for(f"connector {name} is accepted", accepted, timeout_s=_PATIENCE_S, every_s=0.5)

    def wait_until_runs(self, name: str) -> None:
        def runs() -> bool:
            status, told = self.ask("GET", f"/connectors/{name}/status")
            if status != 200:
                return False
            states = [told["connector"]["state"], *(each["state"] for each in told["tasks"])]
            assert "FAILED" not in states, told
            return len(states) > 1 and set(states) == {"RUNNING"}

        wait_for(f"connector {name} runs", runs, timeout_s=_PATIENCE_S, every_s=0.2)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The status and the JSON of an answer; 0 where nobody listens yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=95)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            said = answer.read()
            is_json = answer.headers.get_content_type() == "application/json"
            return answer.status, json.loads(said) if said and is_json else None
        except OSError:
            return 0, None
        finally:
            connection.close()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.is_running, self._process.log_tail()
        # While it starts, the interface says 404 or 503 to everything.
        return self.ask("GET", "/connectors")[0] == 200

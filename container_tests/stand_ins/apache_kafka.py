#!/usr/bin/env python3
"""In the image that stands in for apache/kafka: its start script with `serve`, else the tool that
health checks call."""

import os
import subprocess
import sys
from pathlib import Path

_JAVA = ("java", "-Xmx256m", "-Dlog4j2.configurationFile=/opt/kafka/log4j2.properties")
_CLASSES = ("-cp", "/opt/kafka/libs/*")
_FILE = Path("/tmp/server.properties")


def serve() -> None:
    settings = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in os.environ.items()
        if name.startswith("KAFKA_")
    }
    _FILE.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    made = ["kafka.tools.StorageTool", "format", "--ignore-formatted"]
    made += ["-t", os.environ["CLUSTER_ID"], "-c", str(_FILE)]
    subprocess.run([*_JAVA, *_CLASSES, *made], check=True)
    os.execvp("java", [*_JAVA, *_CLASSES, "kafka.Kafka", str(_FILE)])


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    tool = "org.apache.kafka.tools.BrokerApiVersionsCommand"
    os.execvp("java", [*_JAVA, *_CLASSES, tool, *sys.argv[1:]])

"""Others' programs, built where their sources can be had, and a node that they look at.

KEDA's scalers and the programs of MODULES come by Go's module proxy. What a proxy does not have
is built from EXPORTER_SOURCES/<name>, a clone of its repository; else its tests are skipped, and
say so.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker
from tests.http.pages import HTTP, with_kafka

ROOT: Final = Path(__file__).parent.parent
KEPT: Final = ROOT / ".exporters"
KEDA: Final = "github.com/kedacore/keda/v2@v2.21.0"
# Program -> its module, and the version that was run; in a clone, where its main package is.
MODULES: Final = {
    "Burrow": "github.com/linkedin/Burrow@ced55ba90f6b",
    "kaf": "github.com/birdayz/kaf/cmd/kaf@fd9c0ca11715",
    "kafkactl": "github.com/deviceinsight/kafkactl/v5@9005d01a0bf1",
    "kafka_exporter": "github.com/danielqsj/kafka_exporter@953e2f1745b9",
    "kminion": "github.com/cloudhut/kminion/v2@4f3867a4400b",
}
_PACKAGES: Final = {"kaf": "./cmd/kaf"}
_MOST_SECONDS: Final = 1800

Run = Callable[[list[str], Path], "subprocess.CompletedProcess[str]"]


def _run(command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "GOBIN": str(KEPT), "GOFLAGS": "-mod=mod"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )


def _go() -> str:
    found = shutil.which("go")
    if found is None:
        pytest.skip("no Go here")
    KEPT.mkdir(exist_ok=True)
    return found


@pytest.fixture(scope="session")
def keda() -> Path:
    """A program that asks KEDA's scalers (keda/main.go)."""
    go, folder = _go(), KEPT / "keda"
    made = folder / "scaler"
    source = (ROOT / "exporter_tests" / "keda" / "main.go").read_text(encoding="utf-8")
    if made.exists() and (folder / "main.go").read_text(encoding="utf-8") == source:
        return made
    folder.mkdir(exist_ok=True)
    (folder / "main.go").write_text(source, encoding="utf-8")
    (folder / "go.mod").write_text("module kafkapy/keda\n", encoding="utf-8")
    for command in (["get", KEDA], ["mod", "tidy"], ["build", "-o", str(made), "."]):
        told = _run([go, *command], folder)
        if told.returncode:
            pytest.skip(f"KEDA cannot be had: {told.stderr.splitlines()[-1]}")
    return made


def program(name: str) -> Path:
    go, made = _go(), KEPT / name
    if made.exists():
        return made
    told = _run([go, "install", MODULES[name]], KEPT)
    sources = os.environ.get("EXPORTER_SOURCES")
    if told.returncode and sources is not None:
        told = _run([go, "build", "-o", str(made), _PACKAGES.get(name, ".")], Path(sources) / name)
    if told.returncode:
        pytest.skip(f"{name} cannot be had: {told.stderr.splitlines()[-1]}")
    return made


@pytest.fixture(scope="session")
def node() -> Iterator[Broker]:
    """Three partitions of "orders", 100 records each; "billing" has read 100, 60 and 5 of them."""
    with Broker(HTTP) as broker:
        broker.create_topic("orders", partitions=3)

        async def write(kafka: Kafka) -> None:
            for partition in range(3):
                some = [NewRecord(None, b"%d" % one, 1000 + one) for one in range(100)]
                await records.produce(kafka, "orders", partition, some)

        with_kafka(broker, write)
        commit(broker, "billing", [100, 60, 5])
        yield broker


def commit(broker: Broker, group: str, offsets: list[int]) -> None:
    where = {TopicPartition("orders", index): one for index, one in enumerate(offsets)}

    async def work(kafka: Kafka) -> None:
        await groups.commit(kafka, group, where)

    with_kafka(broker, work)

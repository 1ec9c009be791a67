"""Kill the job, then the broker, in the middle of their work: the result is exact all the same.

    clicks    half of them, a quarter ......................... a quarter, the last one
    job       start .. kill -9 (a batch is half written), start ......... caught up
    broker    .............................. kill -9 (a batch is open), start

Of three brokers (--nodes 3) each is killed in its turn, those that lead what the job reads and
writes among them, and whoever coordinates. Clicks are on their way meanwhile, and one in five is
sent twice. In the end
Parquet and the topic must both equal what one batch query computes from all the clicks.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from compat_tests.shared_cluster import SharedCluster
from compat_tests.targets import KAFKAPY, TARGETS, TEST_PROPERTIES, Server, server
from compat_tests.waiting import NeverHappened, wait_for
from spark_examples.clicks import Click, ClickProducer, new_topic, random_clicks
from spark_examples.exactly_once.revenue import LATENESS, revenue, unpacked
from spark_examples.session import spark_session

_ROOT = Path(__file__).resolve().parent.parent.parent
_OUT = _ROOT / "spark_examples" / "out" / "exactly_once"
_PATIENCE_S = 150


@dataclass(frozen=True)
class Proof:
    """Rows of minute, page, clicks and cents: what a batch says, and what the job wrote."""

    batch: list[Row]
    parquet: list[Row]
    topic: list[Row]
    records_sent: int
    records_written_again: int
    keys_with_two_values: int

    def check(self) -> None:
        assert self.batch, "nothing to compare"
        assert self.parquet == self.batch
        assert self.topic == self.batch
        assert self.keys_with_two_values == 0


class Progress:
    """What the job's checkpoint says, looked at again and again."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._began = time.monotonic()
        self.records: list[tuple[float, int]] = []
        self.kills: list[tuple[float, str]] = []

    def open_batch(self) -> int:
        """The batch whose offsets are planned and that is not committed, or -1."""
        self.look()
        planned = self._last("offsets")
        return planned if planned > self._last("commits") else -1

    def is_inside_batch(self, at_least: int) -> bool:
        return self.open_batch() >= at_least

    def has_written(self, parquet: Path, at_least: int) -> bool:
        """Such a batch has its Parquet, and is not committed: it will be written again."""
        batch = self.open_batch()
        return batch >= at_least and (parquet / f"batch={batch}" / "_SUCCESS").exists()

    def look(self) -> int:
        """Records in committed batches."""
        records = 0
        if (last := self._last("commits")) >= 0:
            lines = (self._checkpoint / "offsets" / str(last)).read_text().splitlines()
            (by_partition,) = json.loads(lines[-1]).values()
            records = sum(by_partition.values())
        self.records.append((self._now(), records))
        return records

    def killed(self, what: str) -> None:
        self.kills.append((self._now(), what))

    def _now(self) -> float:
        return time.monotonic() - self._began

    def _last(self, log: str) -> int:
        names = os.listdir(self._checkpoint / log) if (self._checkpoint / log).exists() else []
        return max((int(name) for name in names if name.isdigit()), default=-1)


@dataclass(frozen=True)
class Death:
    """Of a broker, and what ends it."""

    of: str
    kill: Callable[[], None]
    revive: Callable[[], None]


def deaths_of_server(kafka: Server) -> list[Death]:
    return [Death("broker", partial(kafka.stop, how=signal.SIGKILL), kafka.start)]


def deaths_of_nodes(kafka: SharedCluster) -> list[Death]:
    """Each in its turn, once those before it have all again that they missed."""
    return [
        Death(f"node {node}", partial(kafka.cluster.kill, node), partial(kafka.revive, node))
        for node in kafka.cluster.nodes
    ]


def prove(spark: SparkSession, bootstrap: str, deaths: Sequence[Death], out: Path) -> Proof:
    """Play it on running brokers that may be killed."""
    source = new_topic(bootstrap, "clicks")
    sink = new_topic(bootstrap, "revenue")
    sent = list(_with_copies(random_clicks(3000)))
    half, quarter = len(sent) // 2, len(sent) // 4
    last = replace(sent[-1], id="last", at=sent[-1].at + timedelta(hours=1))
    progress = Progress(out / "checkpoint")
    producer = ClickProducer(bootstrap)
    producer.send(source, sent[:half], partitions=2)
    producer.flush()
    with _job(bootstrap, source, sink, out):
        written = partial(progress.has_written, out / "revenue", 2)
        wait_for("a batch is in Parquet only", written, timeout_s=_PATIENCE_S, every_s=0.002)
    progress.killed("job")
    producer.send(source, sent[half : half + quarter], partitions=2)
    later = sent[half + quarter :]
    share = -(-len(later) // len(deaths))
    with _job(bootstrap, source, sink, out):
        for number, death in enumerate(deaths):
            inside = partial(progress.is_inside_batch, 5 + number)
            wait_for("a batch is open", inside, timeout_s=_PATIENCE_S, every_s=0.005)
            death.kill()
            progress.killed(death.of)
            part = later[number * share :][:share]  # in order: who is late does not count
            producer.send(source, part, partitions=2)
            death.revive()
        producer.send(source, [last])  # closes all the minutes before it
        producer.flush()
        count = len(sent) + 1
        wait_for("every record is counted", lambda: progress.look() == count, timeout_s=_PATIENCE_S)
        expected = _by_batch(spark, bootstrap, source)
        # The minutes that the last click closed come with one more batch, without records.
        written = partial(_has_rows, spark, out, len(expected))
        wait_for("every minute is written", written, timeout_s=_PATIENCE_S, every_s=0.3)
    _plot(progress, out / "progress.png")
    return _compare(spark, bootstrap, sink, out, expected, count)


@contextmanager
def _job(bootstrap: str, source: str, sink: str, out: Path) -> Iterator[None]:
    """The job as a process of its own, killed at the end of the block: Python and its JVM."""
    command = [sys.executable, "-m", "spark_examples.exactly_once.revenue"]
    command += ["--bootstrap", bootstrap, "--source", source, "--sink", sink, "--out", str(out)]
    with (out / "job.log").open("ab") as log:
        job = subprocess.Popen(
            command, cwd=_ROOT, stdout=log, stderr=log, env=_environment(), start_new_session=True
        )
    try:
        yield
    except NeverHappened as failure:
        failure.add_note((out / "job.log").read_text()[-3000:])
        raise
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def _environment() -> dict[str, str]:
    """Ours, without what tells a Python program that it runs inside a Spark already."""
    return {key: value for key, value in os.environ.items() if "PYSPARK_GATEWAY" not in key}


def _with_copies(clicks: Iterator[Click]) -> Iterator[Click]:
    """Every fifth click comes again, forty clicks later."""
    recent: list[Click] = []
    for click in clicks:
        yield click
        recent.append(click)
        if len(recent) > 40 and len(recent) % 5 == 0:
            yield recent[-40]


def _by_batch(spark: SparkSession, bootstrap: str, source: str) -> list[Row]:
    """The same from all clicks at once; a minute counts once the watermark has passed it."""
    every = unpacked(_all(spark, bootstrap, source))
    end = F.col("minute") + F.expr("INTERVAL 1 minute")
    watermark = every.agg((F.max("at") - F.expr(f"INTERVAL {LATENESS}")).alias("watermark"))
    rows = revenue(every.dropDuplicates(["id"])).join(watermark, end <= F.col("watermark"))
    return _sorted(rows.drop("watermark"))


def _parquet(spark: SparkSession, out: Path) -> list[Row]:
    batches = [str(each.parent) for each in (out / "revenue").glob("*/_SUCCESS")]
    return _sorted(spark.read.parquet(*batches)) if batches else []


def _has_rows(spark: SparkSession, out: Path, count: int) -> bool:
    return len(_parquet(spark, out)) >= count


def _compare(
    spark: SparkSession, bootstrap: str, sink: str, out: Path, expected: list[Row], sent: int
) -> Proof:
    written = _all(spark, bootstrap, sink).select(
        F.col("key").cast("string"), F.col("value").cast("string"), "partition", "offset"
    )
    keys = written.groupBy("key").agg(
        F.count("*").alias("times"),
        F.countDistinct("value").alias("values"),
        F.max_by("value", "offset").alias("value"),
    )
    schema = "minute timestamp, page string, clicks long, cents long"
    rows = keys.select(F.from_json("value", schema).alias("row")).select("row.*")
    counts = keys.agg(F.sum(F.col("times") - 1), F.sum(F.col("values") - 1)).first()
    assert counts is not None
    return Proof(expected, _parquet(spark, out), _sorted(rows), sent, counts[0], counts[1])


def _all(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return reader.option("subscribe", topic).load()


def _sorted(rows: DataFrame) -> list[Row]:
    columns = rows.select("minute", "page", "clicks", "cents")
    collected: list[Row] = columns.orderBy("minute", "page").collect()
    return collected


def _plot(progress: Progress, picture: Path) -> None:
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    axes.step(*zip(*progress.records, strict=True), where="post", label="records counted")
    for at, what in progress.kills:
        axes.axvline(at, color="crimson", linestyle="--")
        place = ("data", "axes fraction")
        axes.annotate(f"kill -9 {what} ", (at, 0.94), xycoords=place, ha="right")
    axes.set(
        title="A job, killed, and its brokers, killed: records in committed batches",
        xlabel="seconds",
        ylabel="records",
    )
    axes.grid(alpha=0.3)
    figure.savefig(picture, dpi=110)


def _start(target: str, nodes: int, stack: ExitStack) -> tuple[str, list[Death]]:
    if nodes == 1:
        kafka = server(target, _OUT / "server")
        stack.callback(kafka.stop)
        kafka.start()
        return kafka.bootstrap, deaths_of_server(kafka)
    many = SharedCluster(target, _OUT / "server", nodes, TEST_PROPERTIES)
    stack.callback(many.stop)
    many.start()
    return many.cluster.bootstrap, deaths_of_nodes(many)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", choices=TARGETS, default=KAFKAPY, help="which server to kill")
    parser.add_argument("--nodes", type=int, default=1, help="how many brokers, each killed")
    options = parser.parse_args()
    shutil.rmtree(_OUT, ignore_errors=True)
    _OUT.mkdir(parents=True)
    with ExitStack() as stack:
        bootstrap, deaths = _start(options.target, options.nodes, stack)
        spark = stack.enter_context(spark_session("prove"))
        proof = prove(spark, bootstrap, deaths, _OUT)
    proof.check()
    print(f"{proof.records_sent} records sent; {len(proof.batch)} rows of revenue by batch.")
    print(f"Parquet: the same {len(proof.parquet)} rows.")
    print(
        f"Kafka: the same {len(proof.topic)} keys; "
        f"{proof.records_written_again} records were written again, with the same value."
    )
    print(f"{_OUT / 'progress.png'}")


if __name__ == "__main__":
    main()

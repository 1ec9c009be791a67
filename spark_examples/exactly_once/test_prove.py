"""The proof itself, on a server of its own that it kills."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from compat_tests.behaviours import covers
from compat_tests.targets import Server
from spark_examples.exactly_once.prove import prove


@covers("spark-exactly-once")
@pytest.mark.timeout(500)
def test_results_equal_a_batch_query_after_job_and_broker_were_killed(
    spark: SparkSession, own_server: Callable[..., Server], tmp_path: Path
) -> None:
    proof = prove(spark, own_server(), tmp_path)
    proof.check()
    assert (tmp_path / "progress.png").read_bytes().startswith(b"\x89PNG")

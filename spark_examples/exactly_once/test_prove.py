"""The proof itself, on a server of its own that it kills."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from compat_tests.behaviours import covers
from compat_tests.shared_cluster import SharedCluster
from compat_tests.targets import TEST_PROPERTIES, Server
from spark_examples.exactly_once.prove import deaths_of_nodes, deaths_of_server, prove


@covers("spark-exactly-once")
@pytest.mark.timeout(500)
def test_results_equal_a_batch_query_after_job_and_broker_were_killed(
    spark: SparkSession, own_server: Callable[..., Server], tmp_path: Path
) -> None:
    kafka = own_server()
    proof = prove(spark, kafka.bootstrap, deaths_of_server(kafka), tmp_path)
    proof.check()
    assert (tmp_path / "progress.png").read_bytes().startswith(b"\x89PNG")


@covers("spark-exactly-once")
@pytest.mark.timeout(900)
def test_results_are_equal_after_each_node_of_a_cluster_was_killed(
    spark: SparkSession, target: str, nodes: int, tmp_path: Path
) -> None:
    if nodes == 1:
        pytest.skip("of a cluster: --nodes 3")
    kafka = SharedCluster(target, tmp_path / "server", nodes, TEST_PROPERTIES)
    try:
        kafka.start()
        prove(spark, kafka.cluster.bootstrap, deaths_of_nodes(kafka), tmp_path).check()
    finally:
        kafka.stop()

"""The image: who it runs as, what it may write, how it starts and how it ends."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from container_tests.engine import DockerFailed, docker, inspect

Run = Callable[..., str]
LOCKED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true")


def serving(container: str) -> None:
    """Wait until the node says so of itself."""
    docker("exec", container, "sh", "-c", "until kafkapy health --environment; do sleep 0.1; done")


def test_it_serves_without_a_setting_as_nobody_special_on_a_root_that_cannot_be_written(
    run: Run,
) -> None:
    node = run(*LOCKED)
    serving(node)
    assert docker("exec", node, "id", "-u") == "1000"
    assert "PARTITIONS" in docker("exec", node, "kafkapy", "topics", "create", "t")
    assert docker("diff", node) == ""


def test_any_user_of_group_0_may_run_it(run: Run) -> None:
    """As OpenShift does."""
    node = run(*LOCKED, "--user", "1234567:0")
    serving(node)


def test_it_ends_in_order_when_it_is_told_to(run: Run) -> None:
    node = run()
    serving(node)
    docker("stop", "--time", "25", node)
    assert inspect(node)["State"]["ExitCode"] == 0
    assert "stopped cleanly" in docker_logs(node)


def test_it_hears_that_it_shall_end_before_it_serves(run: Run) -> None:
    """Its voters are nowhere: it never does."""
    node = run(
        "--env", "KAFKAPY_PROCESS_ROLES=broker,controller", "--env", "KAFKAPY_NODE_ID=1",
        "--env", "KAFKAPY_LISTENERS=PLAINTEXT://:9092,CONTROLLER://:9093",
        "--env", "KAFKAPY_CONTROLLER_LISTENER_NAMES=CONTROLLER",
        "--env", "KAFKAPY_CONTROLLER_QUORUM_VOTERS=1@here:9093,2@nowhere:9093,3@neither:9093",
        "--hostname", "here",
    )  # fmt: skip
    docker("exec", node, "sh", "-c", "until [ -e /var/lib/kafka/data/.lock ]; do sleep 0.1; done")
    docker("stop", "--time", "60", node)
    assert inspect(node)["State"]["ExitCode"] in (0, 128 + 15)


def test_children_that_were_left_behind_are_no_zombies(run: Run) -> None:
    node = run()
    serving(node)
    docker("exec", node, "sh", "-c", "(sleep 0.2 &) ; exit")
    seen = docker("exec", node, "sh", "-c", "sleep 0.6; cat /proc/[0-9]*/stat")
    states = [line.rpartition(") ")[2].split()[0] for line in seen.splitlines()]
    assert "Z" not in states, seen


def test_its_lines_are_json_on_request(run: Run) -> None:
    node = run("--env", "KAFKAPY_LOG_FORMAT=json")
    serving(node)
    docker("stop", "--time", "25", node)
    events = [json.loads(line)["event"] for line in docker_logs(node).splitlines()]
    assert {"serving", "stopped cleanly"} <= set(events)


def test_a_mounted_file_lies_under_the_environment(run: Run, image: str) -> None:
    node = run(
        "--env", "KAFKA_NUM_PARTITIONS=5",
        then=(
            "sh", "-c",
            "printf 'num.partitions=3\\nlog.retention.hours=7\\n' > /tmp/server.properties; "
            "exec kafkapy serve --environment --config /tmp/server.properties",
        ),
    )  # fmt: skip
    serving(node)
    docker("exec", node, "kafkapy", "topics", "create", "t")
    described = docker("exec", node, "kafkapy", "topics", "describe", "t", "--json")
    assert len(described.splitlines()) == 5


def test_what_apache_kafkas_image_starts_is_there(run: Run) -> None:
    node = run(then=("/etc/kafka/docker/run", "KAFKA_NUM_PARTITIONS=4"))
    serving(node)
    docker("exec", node, "kafkapy", "topics", "create", "t")
    described = docker("exec", node, "kafkapy", "topics", "describe", "t", "--json")
    assert len(described.splitlines()) == 4


def test_the_scripts_that_health_checks_call_say_whether_it_serves(run: Run) -> None:
    node = run()
    serving(node)
    scripts, server = "/opt/kafka/bin", ("--bootstrap-server", "localhost:9092")
    versions = docker("exec", node, f"{scripts}/kafka-broker-api-versions.sh", *server)
    assert versions.startswith("localhost:9092 (id: 1 ")
    docker("exec", node, "nc", "-z", "localhost", "9092")
    topics = f"{scripts}/kafka-topics.sh"
    docker("exec", node, topics, *server, "--create", "--topic", "t", "--partitions", "4")
    docker("exec", node, topics, *server, "--create", "--topic", "t", "--if-not-exists")
    assert docker("exec", node, topics, *server, "--list") == "t"
    described = docker("exec", node, topics, *server, "--describe", "--topic", "t")
    assert len(described.splitlines()) == 5
    assert docker("exec", node, f"{scripts}/kafka-cluster.sh", "cluster-id", *server)
    nowhere = ("--bootstrap-server", "localhost:9")
    for script in ("kafka-broker-api-versions.sh", "kafka-topics.sh --list"):
        with pytest.raises(DockerFailed, match="cannot reach a broker"):
            docker("exec", node, *f"{scripts}/{script}".split(), *nowhere)
    with pytest.raises(DockerFailed, match="unrecognized"):
        docker("exec", node, topics, *server, "--list", "--exclude-internal")


def test_it_speaks_http_and_compiles_a_schema_on_a_root_that_cannot_be_written(run: Run) -> None:
    """protoc wants files: they are in memory. Its health check asks /health."""
    node = run(*LOCKED, "--env", "KAFKAPY_HTTP_LISTENERS=http://0.0.0.0:8080")
    serving(node)
    schema = json.dumps({"schemaType": "PROTOBUF", "schema": 'syntax = "proto3"; message M {}'})
    asked = (
        "import sys, urllib.request as r; "
        "a = r.Request('http://127.0.0.1:8080/subjects/s/versions', sys.argv[1].encode(), "
        "{'content-type': 'application/json'}); print(r.urlopen(a, timeout=30).read().decode())"
    )
    told = docker("exec", node, "/opt/kafkapy/bin/python", "-c", asked, schema)
    assert json.loads(told)["id"] == 1
    assert docker("diff", node) == ""


def test_data_outlives_the_container(run: Run) -> None:
    first = run()
    serving(first)
    docker("exec", first, "kafkapy", "topics", "create", "kept")
    docker("stop", "--time", "25", first)
    second = run("--volumes-from", first)
    serving(second)
    assert "kept" in docker("exec", second, "kafkapy", "topics", "list")


def test_a_backup_of_a_stopped_nodes_volume_is_restored(run: Run, tmp_path: Path) -> None:
    """docs/DEPLOY.md: an archive of the directory, unpacked into an empty volume."""
    first = run()
    serving(first)
    docker("exec", first, "sh", "-c", "echo kept | kafkapy produce t")
    docker("stop", "--time", "25", first)
    tar = ("-C", "/var/lib/kafka/data", "-czf", "/tmp/b.tgz", ".")
    packing = run("--user", "0", "--entrypoint", "tar", "--volumes-from", first, then=tar)
    assert docker("wait", packing) == "0"
    docker("cp", f"{packing}:/tmp/b.tgz", str(tmp_path))
    tmp_path.chmod(0o755)
    unpack = "tar -C /var/lib/kafka/data -xzf /backup/b.tgz && exec kafkapy serve --environment"
    second = run("--volume", f"{tmp_path}:/backup:ro", then=("sh", "-c", unpack))
    serving(second)
    assert docker("exec", second, "kafkapy", "consume", "t", "--max", "1") == "kept"


def docker_logs(container: str) -> str:
    """Both streams."""
    done = subprocess.run(["docker", "logs", container], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr

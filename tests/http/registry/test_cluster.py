"""A registry on every node of a cluster: all of them answer, one at a time writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx2 as httpx

from kafkapy.http.registry.records import Noop, decode
from kafkapy.testing import Cluster
from tests.http.pages import HTTP, client_of

NODES = (1, 2, 3)


def text(number: int) -> str:
    return f'{{"type":"fixed","name":"F{number}","size":{number}}}'


def register(http: httpx.Client, subject: str, number: int) -> int:
    answer = http.post(f"/subjects/{subject}/versions", json={"schema": text(number)})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def test_all_nodes_write_at_once_and_no_id_means_two_things() -> None:
    """Three clients register through a node each, the same schemas under subjects of their own,
    while every node fences the others again and again. Then the leader dies, and it goes on."""
    with Cluster(3, settings=HTTP) as cluster, ExitStack() as stack:
        clients = {node: stack.enter_context(client_of(cluster.node(node))) for node in NODES}
        with ThreadPoolExecutor(len(NODES)) as pool:

            def registers(node: int) -> dict[int, int]:
                return {n: register(clients[node], f"s{n}-{node}", n) for n in range(1, 7)}

            ids = list(pool.map(registers, NODES))
        assert ids[0] == ids[1] == ids[2]
        assert sorted(ids[0].values()) == list(range(1, 7))
        subjects = sorted(f"s{n}-{node}" for n in range(1, 7) for node in NODES)
        for client in clients.values():
            assert client.get("/subjects").json() == subjects
        dead = cluster.leader("_schemas")
        cluster.kill(dead)
        left = [node for node in NODES if node != dead]
        assert register(clients[left[0]], "after", 7) == 7
        assert clients[left[1]].get("/subjects/after/versions/latest").json()["id"] == 7
        assert register(clients[left[1]], "after-that", 3) == ids[0][3]
        keys = [
            record.key
            for record in cluster.node(left[0]).records("_schemas")
            if not isinstance(decode(record.key, record.value), Noop)
        ]
        assert len(keys) == len(set(keys)) == len(subjects) + 2

"""Contexts, and the server itself."""

from __future__ import annotations

from typing import Any

from kafkapy import __version__
from kafkapy.http.registry import deleting
from kafkapy.http.registry.registry import Registry
from kafkapy.http.registry.requests import Asked
from kafkapy.kraft.acls import Operation

O = Operation  # noqa: E741  (read beside the table, it is Kafka's word for it)


async def get_contexts(registry: Registry, asked: Asked) -> Any:
    await asked.access.require(O.DESCRIBE, None)
    state = await registry.store.caught_up()
    prefix = asked.word("contextPrefix")
    return asked.page([each for each in state.contexts() if each.startswith(prefix)])


async def delete_context(registry: Registry, asked: Asked) -> Any:
    await asked.access.require(O.ALTER, None)
    said = asked.parts[0].strip(":")
    context = said if said.startswith(".") else f".{said}"
    await registry.change(lambda state: deleting.context(state, context))
    return None


async def get_no_associations(registry: Registry, asked: Asked) -> Any:
    """Confluent's newer clients ask before anything else which subject a topic is bound to:
    to none, so they go by its name. Binding one is not offered."""
    return []


async def get_cluster_id(registry: Registry, asked: Asked) -> Any:
    cluster = {"kafka-cluster": registry.cluster_id, "schema-registry-cluster": "kafkapy"}
    return {"scope": {"path": [], "clusters": cluster}}


async def get_server_version(registry: Registry, asked: Asked) -> Any:
    return {"version": f"kafkapy {__version__}", "commitId": ""}

"""What is registered, for the broker beside: it lets into some topics only what has a schema.

It looks from the node's thread (broker/produce/schema_ids.py), as often as there are records;
reading on is done here, on HTTP's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import trio

from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.registry.entities import SchemaId
from kafkapy.http.registry.store import Store
from kafkapy.http.site import Site


class Authority:
    """Made on HTTP's thread."""

    def __init__(self, site: Site, store: Store, nursery: trio.Nursery) -> None:
        self._site = site
        self._store = store
        self._nursery = nursery
        self._token = trio.lowlevel.current_trio_token()

    # On the node's loop

    def subjects_of(self, schema_id: int | bytes) -> frozenset[str] | None:
        known_as = schema_id if isinstance(schema_id, bytes) else SchemaId(schema_id)
        return self._store.state.names_of(known_as)

    def catch_up(self, then: Callable[[bool], None]) -> None:
        try:
            self._token.run_sync_soon(self._nursery.start_soon, self._read, then)
        except trio.RunFinishedError:
            then(False)

    # Here

    async def _read(self, then: Callable[[bool], None]) -> None:
        try:
            await self._store.caught_up()
            has_read = True
        except KafkaError:
            has_read = False
        await self._site.link.call(partial(then, has_read))

"""Exactly once by a key that who asks chooses (`Idempotency-Key`).

    1. find     has the key been claimed? done: the same answer, whatever has become of schemas
                and topics meanwhile; open: go on at 3 with that claim
    2. claim    which partitions, schemas, producer and sequences; of several the first counts
    3. write    each partition's batch by the claim's producer: a leader that has it says where
    4. done     where everything is, written beside the claim; then the answer

Whatever ends between two of these, a node, a connection, somebody's patience, a repeated request
goes on from there, on any node. A request of which a part was refused stays open: repeating it
writes what is missing. What a producer has written is known to the partitions for
`producer.id.expiration.ms`, so an open claim is no older than that or than keys are remembered.
"""

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

import trio

from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.once.claims import Claim, Written, slot_of
from kafkapy.http.rest.once.producers import Producers
from kafkapy.http.rest.once.topic import KEY_TOPIC, KeyTopic

MOST_KEY_LETTERS: Final = 255

# Partition -> where its batch is, or why it is not.
Outcome = Mapping[int, Written | KafkaError]


class Plan(NamedTuple):
    """What a claim fixes of what is to be written."""

    places: Sequence[int]
    schema_ids: Mapping[str, tuple[int, ...]]


class Attempt(Protocol):
    """One request, which may be the first of its key or not."""

    async def plan(self) -> Plan:
        """Nobody has claimed the key. Problem for what nobody could write."""

    async def write(self, claim: Claim) -> Outcome:
        """By that claim, whosever it is."""


class Once:
    """One per site. `own`: Kafka in the node's own name, for the topic of keys."""

    def __init__(self, own: Callable[[], Kafka], retention_ms: int, max_keys: int) -> None:
        self.topic = KeyTopic(retention_ms, max_keys)
        self.producers = Producers()
        self._own = own
        # Repetitions on this node wait for the one before them.
        self._held: dict[bytes, tuple[trio.Lock, int]] = {}

    async def do(
        self,
        kafka: Kafka,
        key: str,
        topic: str,
        fingerprint: str,
        attempt: Attempt,
    ) -> tuple[Claim, Outcome, bool]:
        """The claim, where its batches are, and whether they were there before."""
        if not 0 < len(key) <= MOST_KEY_LETTERS:
            raise Problem(400, f"Idempotency-Key has 1 to {MOST_KEY_LETTERS} letters")
        if topic == KEY_TOPIC:
            raise Problem(400, f"{KEY_TOPIC} holds keys and takes none")
        slot = slot_of(kafka.principal, key)
        async with self._alone(slot):
            now = int(time.time() * 1000)
            own, topic_id = self._own(), None
            claim, lease = await self.topic.find(own, slot, now), None
            if claim is None:
                places, schema_ids = await attempt.plan()
                topic_id = kafka.topic(topic).id
                lease = await self.producers.take(kafka)
                sequences = lease.sequences(topic_id, sorted(set(places)))
                mine = Claim(
                    fingerprint,
                    now,
                    tuple(places),
                    lease.producer,
                    sequences,
                    schema_ids=schema_ids,
                )
                claim = await self.topic.claim(own, slot, mine, now)
                if claim.producer != mine.producer:
                    lease = None
            if claim.fingerprint != fingerprint:
                raise Problem(422, "this Idempotency-Key stands for another request")
            if claim.written is not None:
                return claim, claim.written, True
            outcome = await attempt.write(claim)
            written = {at: one for at, one in outcome.items() if isinstance(one, Written)}
            if len(written) == len(outcome):
                # Without it the partitions still know: who repeats is told what they know.
                with suppress(KafkaError):
                    await self.topic.write(own, slot, replace(claim, written=written), now)
                    if lease is not None and kafka.topic(topic).id == topic_id:
                        lease.wrote(topic_id, Counter(claim.places))
                        self.producers.give_back(lease)
                return claim, outcome, False
            with suppress(KafkaError):
                # Another node may be done with it, and its producer have written much since.
                known = await self.topic.find(own, slot, now)
                if known is not None and known.producer == claim.producer and known.written:
                    return known, known.written, True
            return claim, outcome, False

    @asynccontextmanager
    async def _alone(self, slot: bytes) -> AsyncIterator[None]:
        lock, users = self._held.get(slot, (trio.Lock(), 0))
        self._held[slot] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            _, users = self._held[slot]
            if users == 1:
                del self._held[slot]
            else:
                self._held[slot] = lock, users - 1

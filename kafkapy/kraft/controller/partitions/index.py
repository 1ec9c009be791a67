"""Which partitions a broker is in sync for, and what else is looked for among all of them.

    record --> image --> delta --> the marks of a partition before, and after --> index

Without it each look would go over every partition of the cluster. It is nothing but a cache of
the image, kept by the active controller alone, whose records go through `follow`; it falls with
the controller's image, and with what was not committed. A number holds the partitions of one topic
that bear one mark, a bit for each (places.py).

A new controller does not wait for it: `build` goes on while it serves. Who asks before that is
over waits for the rest of it, and that is no longer than looking at everything was.
"""

from typing import Final
from uuid import UUID

from kafkapy.core.ids import NO_NODE
from kafkapy.kraft.controller.partitions.places import Places
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState

# Partitions: some milliseconds.
BUILT_AT_ONCE: Final = 1000

# Marks of a partition. These are about a broker:
LEAVABLE: Final = 0  # it is in the ISR, and leads or is not alone there
LAST: Final = 1  # alone in the ISR without leading: nothing changes when it goes
ELIGIBLE: Final = 2
# These are about none:
LEADERLESS: Final = 3
UNPREFERRED: Final = 4  # the preferred replica does not lead
REASSIGNING: Final = 5
ELIGIBLE_BESIDE_ISR: Final = 6

_Key = tuple[int, int]


class PartitionIndex:
    """Of `image`, which changes by what `follow` is told."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._marked: dict[_Key, dict[UUID, int]] = {}
        self._led: dict[int, int] = {}
        # Topics that `build` has not come to: what changes in them is found then.
        # The first is at the end, from where it is taken.
        self._unread = dict.fromkeys(reversed(image.topics_by_id))
        self.build(BUILT_AT_ONCE)

    # -- looks -------------------------------------------------------------------------

    def places(self, *marks: int, broker: int = NO_NODE) -> Places:
        """Partitions that bear one of these marks, mark by mark."""
        self._finish()
        return Places(*(self._marked.get((mark, broker), {}) for mark in marks))

    def has_any(self, mark: int, broker: int = NO_NODE) -> bool:
        self._finish()
        return (mark, broker) in self._marked

    def leads_any(self, broker: int) -> bool:
        self._finish()
        return broker in self._led

    # -- keeping it --------------------------------------------------------------------

    @property
    def is_complete(self) -> bool:
        return not self._unread

    def build(self, count: int) -> None:
        """Take in that many partitions more, but whole topics."""
        while count > 0 and self._unread:
            topic_id, _ = self._unread.popitem()
            partitions = self._image.topics_by_id[topic_id].partitions
            for index, state in partitions.items():
                self._add(topic_id, index, state)
            count -= max(len(partitions), 1)

    def follow(self, delta: Delta) -> None:
        """The image has changed by `delta`."""
        for topic in delta.topics_deleted.values():
            if topic.id in self._unread:
                del self._unread[topic.id]
            else:
                self._forget(topic.id, topic.partitions)
        for topic_id, touched in delta.partitions.items():
            if topic_id not in self._unread:
                after = self._image.topics_by_id[topic_id].partitions
                for index, before in touched.items():
                    if before is None:
                        self._add(topic_id, index, after[index])
                    else:
                        self._change(topic_id, index, before, after[index])

    def _finish(self) -> None:
        if self._unread:
            self.build(self._image.partition_count + len(self._unread))

    def _add(self, topic_id: UUID, index: int, state: PartitionState) -> None:
        self._count_leader(state.leader, 1)
        bit = 1 << index
        for key in _marks(state):
            self._enter(key, topic_id, bit)

    def _change(
        self, topic_id: UUID, index: int, before: PartitionState, after: PartitionState
    ) -> None:
        if before.leader != after.leader:
            self._count_leader(before.leader, -1)
            self._count_leader(after.leader, 1)
        old, new = _marks(before), _marks(after)
        if old == new:
            return
        bit = 1 << index
        for key in old:
            if key not in new:
                self._leave(key, topic_id, self._marked[key][topic_id] ^ bit)
        for key in new:
            if key not in old:
                self._enter(key, topic_id, bit)

    def _enter(self, key: _Key, topic_id: UUID, bit: int) -> None:
        marked = self._marked.get(key)
        if marked is None:
            self._marked[key] = {topic_id: bit}
        else:
            marked[topic_id] = marked.get(topic_id, 0) | bit

    def _leave(self, key: _Key, topic_id: UUID, bits: int) -> None:
        """A topic without any is not there, nor is a mark that nobody bears."""
        marked = self._marked[key]
        if bits:
            marked[topic_id] = bits
            return
        del marked[topic_id]
        if not marked:
            del self._marked[key]

    def _forget(self, topic_id: UUID, partitions: dict[int, PartitionState]) -> None:
        for key in [key for key, marked in self._marked.items() if topic_id in marked]:
            self._leave(key, topic_id, 0)
        for state in partitions.values():
            self._count_leader(state.leader, -1)

    def _count_leader(self, broker: int, by: int) -> None:
        count = self._led.get(broker, 0) + by
        if count:
            self._led[broker] = count
        else:
            del self._led[broker]


def _marks(state: PartitionState) -> list[_Key]:
    isr, leader = state.isr, state.leader
    if len(isr) == 1:
        marks = [(LEAVABLE if leader == isr[0] else LAST, isr[0])]
    else:
        marks = [(LEAVABLE, broker) for broker in isr]
    if leader == NO_NODE:
        marks.append((LEADERLESS, NO_NODE))
    if leader != state.preferred_leader:
        marks.append((UNPREFERRED, NO_NODE))
    if state.elr:
        marks += [(ELIGIBLE, broker) for broker in state.elr]
        if isr:
            marks.append((ELIGIBLE_BESIDE_ISR, NO_NODE))
    if state.is_reassigning:
        marks.append((REASSIGNING, NO_NODE))
    return marks

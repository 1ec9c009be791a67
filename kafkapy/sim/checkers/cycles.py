"""Cycles (G1c): transactions that each depend on the other.

    T2 read what T1 wrote: T1 comes before T2.     Both ways round: neither came first.

Kafka lets open transactions interleave their writes, so the order of writes is no
dependency by itself; `with_writes` counts it for systems and topics where it is one (G0).
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from kafkapy.sim.checkers.history import (
    Anomaly,
    History,
    Operation,
    Outcome,
    Partition,
    writers,
)

Graph = dict[Operation, set[Operation]]


def check(history: History, *, with_writes: bool = False) -> Iterator[Anomaly]:
    graph = _reads(history)
    if with_writes:
        for before, after in _writes(history):
            graph[before].add(after)
    for members in _components(graph):
        if len(members) > 1:
            names = ", ".join(repr(one) for one in members)
            yield Anomaly("cycle", f"each of these came before the others: {names}", members)


def _reads(history: History) -> Graph:
    wrote = writers(history)
    graph: Graph = defaultdict(set)
    for operation in history.operations:
        if operation.outcome is Outcome.FAIL or not operation.reads_committed:
            continue
        for poll in operation.polls:
            for read in poll.reads:
                writer = wrote.get((poll.partition, read.value))
                if writer is not None and writer is not operation:
                    graph[writer].add(operation)
    return graph


def _writes(history: History) -> Iterator[tuple[Operation, Operation]]:
    by_partition: dict[Partition, list[tuple[int, Operation]]] = defaultdict(list)
    for operation in history.operations:
        if operation.outcome is not Outcome.FAIL:
            for send in operation.sends:
                if send.offset is not None:
                    by_partition[send.partition].append((send.offset, operation))
    for written in by_partition.values():
        written.sort(key=lambda one: one[0])
        for (_, before), (_, after) in pairwise(written):
            if before is not after:
                yield before, after


def _components(graph: Graph) -> Iterator[tuple[Operation, ...]]:
    """Strongly connected components (Tarjan), without recursion: histories are long."""
    number: dict[Operation, int] = {}
    lowest: dict[Operation, int] = {}
    stack: list[Operation] = []
    on_stack: set[Operation] = set()
    for root in list(graph):
        if root in number:
            continue
        work = [(root, _enter(root, graph, number, lowest, stack, on_stack))]
        while work:
            node, following = work[-1]
            for one in following:
                if one not in number:
                    work.append((one, _enter(one, graph, number, lowest, stack, on_stack)))
                    break
                if one in on_stack:
                    lowest[node] = min(lowest[node], number[one])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == number[node]:
                    yield _leave(node, stack, on_stack)


def _enter(
    node: Operation,
    graph: Graph,
    number: dict[Operation, int],
    lowest: dict[Operation, int],
    stack: list[Operation],
    on_stack: set[Operation],
) -> Iterator[Operation]:
    number[node] = lowest[node] = len(number)
    stack.append(node)
    on_stack.add(node)
    return iter(graph.get(node, ()))


def _leave(
    node: Operation, stack: list[Operation], on_stack: set[Operation]
) -> tuple[Operation, ...]:
    members: list[Operation] = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        members.append(member)
        if member is node:
            return tuple(sorted(members, key=lambda one: one.invoked))

"""What Apache Kafka's tools say of one cluster, with its own words replaced by common ones."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from difflib import unified_diff
from pathlib import Path

from compat_tests.clusters import Cluster
from compat_tests.oracle import run_tool
from compat_tests.waiting import wait_for

BROKERS, CONTROLLERS = "--bootstrap-server", "--bootstrap-controller"

_MASKS = [
    (re.compile(r"^\d{4}-\d\d-\d\d [\d:,]+ ", re.MULTILINE), ""),  # of a line of the tool's log
    (re.compile(r"^WARN .* could not be established.*\n", re.MULTILINE), ""),  # it asks the next
    (re.compile(r"^\s+(at |\.\.\. \d+ more).*\n", re.MULTILINE), ""),  # where in the tool
    # The error is compared, its sentence is each server's own.
    (re.compile(r"(org\.apache\.kafka\.common\.errors\.\w+): .*"), r"\1"),
    (re.compile(r"(TopicId: |directory\.id=)[\w-]{22}"), r"\1<id>"),
    (re.compile(r"\b1\d{12}\b"), "<moment>"),
    (re.compile(r"(Epoch: |HighWatermark: +)\d+"), r"\1<offset>"),
    (re.compile(r"Local controller \d"), "Local controller <id>"),
    (re.compile(r'"(size|avg_throughput)":[\d.E-]+'), r'"\1":<n>'),
    (re.compile(r"[\d.]+ (records/sec|MB/sec|ms)"), r"<n> \1"),
    # What 4.4 has and 4.3.1 has not: kafkapy's share groups know dead letter topics (QUEUES.md).
    (re.compile(r"(share\.version .*SupportedMaxVersion: )[12]"), r"\1<n>"),
]
# Who came back first stands first.
_IN_SYNC = re.compile(r"(Isr: |Elr: )([\d,]+)")


class Told:
    """One cluster, and all that the tools said of it."""

    def __init__(self, cluster: Cluster, scratch: Path) -> None:
        self.cluster = cluster
        self.scratch = scratch
        self.said: list[str] = []
        scratch.mkdir()

    def tool(
        self, name: str, *arguments: str, to: str | None = BROKERS, in_order: bool = True
    ) -> str:
        """Run it; what it says on both its streams is compared, and returned."""
        whom = self._to(to)
        given = (*arguments, *whom) if name == "kafka-cluster" else (*whom, *arguments)
        done = run_tool(name, *given, timeout_s=120)
        said = self._masked(done.stdout + done.stderr)
        lines = said.splitlines()
        call = self._masked(" ".join(["$", name, *arguments]))
        self.said += [call, *(lines if in_order else sorted(lines))]
        self.said.append(f"exit code {done.returncode}")
        return said

    def prepare(self, name: str, *arguments: str) -> str:
        """Run it; it has to succeed, and what it says is not compared."""
        return self.run(name, *self._to(BROKERS), *arguments)

    def run(self, name: str, *arguments: str) -> str:
        """The same, and nobody is named by default."""
        done = run_tool(name, *arguments, timeout_s=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def until(self, what: str, name: str, *arguments: str, says: Callable[[str], bool]) -> None:
        """What Kafka does a moment after its answer."""
        wait_for(what, lambda: says(self.prepare(name, *arguments)))

    def file(self, name: str, text: str) -> str:
        """For a tool that reads one: its path."""
        path = self.scratch / name
        path.write_text(text)
        return str(path)

    def _to(self, to: str | None) -> list[str]:
        whom = {BROKERS: self.cluster.bootstrap, CONTROLLERS: self.cluster.controllers}
        return [] if to is None else [to, whom[to]]

    def _masked(self, text: str) -> str:
        for node_id in self.cluster.nodes:
            for word, address in (
                ("broker", self.cluster.address(node_id)),
                ("controller", self.cluster.controller_address(node_id)),
            ):
                host, _, port = address.partition(":")
                text = text.replace(address, f"<{word} {node_id}>")
                text = re.sub(rf"{host} {port} *", f"<{word} {node_id}> ", text)
        text = text.replace(str(self.cluster.directory), "<directory>")
        text = text.replace(str(self.scratch), "<scratch>")
        for pattern, instead in _MASKS:
            text = pattern.sub(instead, text)
        return _IN_SYNC.sub(lambda found: found[1] + ",".join(sorted(found[2].split(","))), text)


def held_with_both(
    clusters: list[Cluster], scratch: Path, conversation: Callable[[Told], None]
) -> list[str]:
    """The conversation, held with both at once: what was said, if it was the same."""
    told = [Told(one, scratch / f"of-{at}") for at, one in enumerate(clusters)]
    with ThreadPoolExecutor(len(told)) as pool:
        list(pool.map(conversation, told))
    apache, kafkapy = (one.said for one in told)
    found = unified_diff(apache, kafkapy, "Apache Kafka", "kafkapy", lineterm="", n=6)
    assert apache == kafkapy, "\n".join(["", *found])
    return apache

"""What hooks cost, and whether they work: by topic, as they are measured and switched off."""

from kafkapy.http.metrics.families import COUNTER, GAUGE, Family, Page
from kafkapy.http.site import Site

_OF = ("setting", "topic", "hook")
CALLS = Family(
    "kafkapy_hook_calls_total", COUNTER, "Calls of a hook; topic is empty for a node's own.", _OF
)
SECONDS = Family("kafkapy_hook_seconds_total", COUNTER, "What they took on the node's loop.", _OF)
FAILURES = Family(
    "kafkapy_hook_failures_total", COUNTER, "Of them, those that gave no answer.", _OF
)
IS_OFF = Family(
    "kafkapy_hook_off",
    GAUGE,
    "1 for a hook that is not called: it took too long, or cannot be loaded.",
    _OF,
)
FAMILIES = (CALLS, SECONDS, FAILURES, IS_OFF)


def collect(site: Site, page: Page) -> None:
    node = site.link.node
    hooks = list(node.hooks.made)
    if node.broker is not None:
        hooks += node.broker.hooks.snapshot()
    sums: dict[tuple[str, str, str], list[float]] = {}
    for setting, hook in hooks:
        counted = sums.setdefault((setting, hook.of, hook.name), [0, 0.0, 0, 0])
        counted[0] += hook.calls
        counted[1] += hook.spent_ns / 1e9
        counted[2] += hook.failures
        counted[3] = max(counted[3], int(hook.off is not None))
    for labels, counted in sorted(sums.items()):
        for family, value in zip(FAMILIES, counted, strict=True):
            page.add(family, value, *labels)

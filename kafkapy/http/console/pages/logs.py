"""What the node that is asked has said of itself: the last of it, the newest first."""

from typing import Any, Final

from kafkapy.http.console.asked import Asked, Lacking, Pages
from kafkapy.http.console.paging import part_of
from kafkapy.http.problems import Problem
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.server.journal import LEVELS, Noted, Remembering

_ROWS: Final = 100
_LEAST: Final = ("info", "warning", "error")


async def show(asked: Asked) -> Any:
    cluster = [CLUSTER_NAME]
    # Who may see how brokers are set may see what they say: addresses, names, paths.
    if not await asked.kafka.allowed(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, cluster):
        raise Lacking("DESCRIBE_CONFIGS", "CLUSTER", CLUSTER_NAME)
    least, text = asked.query("level", _LEAST[0]), asked.query("q").lower()
    if least not in _LEAST:
        raise Problem(400, f"level is one of {', '.join(_LEAST)}")
    journal = asked.site.link.node.journal
    assert isinstance(journal, Remembering), "it is, where HTTP is on"
    # In one call: others may say something meanwhile.
    recent = list(journal.recent)
    found = [one for one in reversed(recent) if _is_wanted(one, LEVELS[least], text)]
    return asked.page(
        "logs.html",
        part=part_of(asked, found, _ROWS),
        node=asked.kafka.node_id,
        most=journal.recent.maxlen,
        level=least,
        levels=_LEAST,
        text=asked.query("q"),
    )


def _is_wanted(one: Noted, least: int, text: str) -> bool:
    if LEVELS[one.level] < least:
        return False
    said = (one.event, *one.facts, *one.facts.values())
    return not text or any(text in each.lower() for each in said)


PAGES: Pages = (("GET", "/console/logs", show),)

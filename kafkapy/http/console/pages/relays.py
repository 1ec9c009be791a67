"""Topics whose records a node moves elsewhere, and topics that show part of others."""

from typing import Any, Final

from kafkapy.http.console.asked import Asked, Pages
from kafkapy.http.console.flows import flows
from kafkapy.http.console.lag import total_lags
from kafkapy.http.console.paging import part_of

_ROWS: Final = 25


async def show(asked: Asked) -> Any:
    text = asked.query("q").lower()
    relays, views = await flows(asked)
    relays = [one for one in relays if text in f"{one.source} {one.rule.target}".lower()]
    views = [one for one in views if text in f"{one.name} {one.source}".lower()]
    part = part_of(asked, relays, _ROWS)
    waits = await total_lags(asked.kafka, [one.group for one in part.rows])
    return asked.page("relays.html", part=part, views=views, waits=waits, text=asked.query("q"))


PAGES: Pages = (("GET", "/console/relays", show),)

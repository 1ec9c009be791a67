"""Two ways to get meters.py wrong: both go well until a broker dies at the wrong moment."""

from typing import Any, ClassVar

from meters import Meters


class TrustsTheLeaderAlone(Meters):
    """acks=1: what the leader has not handed on dies with it, and the meter has forgotten it."""

    PRODUCER: ClassVar[dict[str, Any]] = {"acks": 1, "enable.idempotence": False}


class WritesTwice(Meters):
    """Without idempotence: who does not hear the answer writes again what is written already."""

    PRODUCER: ClassVar[dict[str, Any]] = {"acks": "all", "enable.idempotence": False}

"""Telling somebody: one POST for what has changed, in the form that Prometheus' Alertmanager gives
its own receivers (version 4), so that what takes those takes these.

Who does not answer is told again, with the next look, as far as the queue goes: the oldest are
dropped first, and that is said.
"""

import json
from collections import deque
from datetime import UTC, datetime
from typing import Any, Final

import trio

from kafkapy.core.seams import Journal
from kafkapy.http.alerting.judge import FIRING, Alert
from kafkapy.http.posting import post

MOST_WAITING: Final = 1000
_JSON: Final = "application/json"
_NOT_YET: Final = "0001-01-01T00:00:00Z"


class Webhook:
    def __init__(self, url: str, node_id: int, cluster_id: str, journal: Journal) -> None:
        self.waiting: deque[Alert] = deque(maxlen=MOST_WAITING)
        self._url = url
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._journal = journal

    async def tell(self, changes: list[Alert]) -> None:
        self.waiting.extend(changes)
        if not self.waiting:
            return
        told = list(self.waiting)
        data = json.dumps(self.body(told)).encode()
        try:
            await trio.to_thread.run_sync(post, self._url, data, _JSON, abandon_on_cancel=True)
        except (OSError, ValueError) as failed:
            self._journal.warning("webhook failed", reason=failed, waiting=len(self.waiting))
            return
        for one in told:
            self.waiting.remove(one)

    def body(self, alerts: list[Alert]) -> dict[str, Any]:
        is_firing = any(one.state == FIRING for one in alerts)
        return {
            "version": "4",
            "receiver": "kafkapy",
            "status": "firing" if is_firing else "resolved",
            "commonLabels": {"cluster": self._cluster_id, "node": str(self._node_id)},
            "alerts": [self._alert(one) for one in alerts],
        }

    def _alert(self, one: Alert) -> dict[str, Any]:
        labels = {
            "alertname": one.rule.name,
            "kind": one.rule.kind,
            "severity": one.rule.severity,
            "subject": one.subject,
            "cluster": self._cluster_id,
            "node": str(self._node_id),
        }
        ended = one.ended_wall_ms
        return {
            "status": one.state,
            "labels": labels,
            "annotations": {"summary": one.told},
            "startsAt": moment(one.since_wall_ms),
            "endsAt": _NOT_YET if ended is None else moment(ended),
            "fingerprint": f"{hash_of(one):016x}",
        }


def hash_of(one: Alert) -> int:
    """The same for the same alert, from whichever process."""
    from zlib import crc32

    return crc32(f"{one.rule.name}\0{one.subject}".encode())


def moment(wall_ms: int) -> str:
    return datetime.fromtimestamp(wall_ms / 1000, UTC).isoformat(timespec="milliseconds")

"""Telling somebody: one POST for what has changed, in the form that Prometheus' Alertmanager gives
its own receivers (version 4), so that what takes those takes these.

Who does not answer is told again, with the next look, as far as the queue goes: the oldest are
dropped first, and that is said.
"""

import json
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import trio

from kafkapy.core.seams import Journal
from kafkapy.http.alerting.judge import FIRING, Alert
from kafkapy.http.posting import post

MOST_WAITING: Final = 1000
_JSON: Final = "application/json"
_NOT_YET: Final = "0001-01-01T00:00:00Z"


class Webhook:
    def __init__(
        self,
        url: str,
        node_id: int,
        cluster_id: str,
        journal: Journal,
        address: str = "http://localhost",
    ) -> None:
        """`address`: by which people ask this node."""
        self.waiting: deque[Alert] = deque(maxlen=MOST_WAITING)
        self._url = url
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._journal = journal
        self._address = address

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
        """One group, of all that this node tells; nothing is left out of it."""
        is_firing = any(one.state == FIRING for one in alerts)
        group, told = self._group(), [self._alert(one) for one in alerts]
        pairs = ", ".join(f"{name}={json.dumps(value)}" for name, value in group.items())
        return {
            "version": "4",
            "groupKey": f"{{}}:{{{pairs}}}",
            "truncatedAlerts": 0,
            "receiver": "kafkapy",
            "status": "firing" if is_firing else "resolved",
            "groupLabels": group,
            "commonLabels": _common([one["labels"] for one in told]),
            "commonAnnotations": _common([one["annotations"] for one in told]),
            "externalURL": self._address,
            "alerts": told,
        }

    def _group(self) -> dict[str, str]:
        return {"cluster": self._cluster_id, "node": str(self._node_id)}

    def _alert(self, one: Alert) -> dict[str, Any]:
        labels = {
            "alertname": one.rule.name,
            "kind": one.rule.kind,
            "severity": one.rule.severity,
            "subject": one.subject,
            **self._group(),
        }
        ended = one.ended_wall_ms
        return {
            "status": one.state,
            "labels": labels,
            "annotations": {"summary": one.told},
            "startsAt": moment(one.since_wall_ms),
            "endsAt": _NOT_YET if ended is None else moment(ended),
            "generatorURL": f"{self._address}/console/alerts",
            "fingerprint": f"{hash_of(one):016x}",
        }


def address_of(listeners: Sequence[str]) -> str:
    """Of the first; one that listens everywhere is asked by this machine's name."""
    parts = urlsplit(listeners[0])
    host = parts.hostname or ""
    if host in ("", "0.0.0.0", "::"):  # nosec B104 - nothing is bound here
        host = socket.gethostname()
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{parts.port}"


def _common(several: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What all of them say."""
    first, *others = several
    return {
        name: value
        for name, value in first.items()
        if all(one.get(name) == value for one in others)
    }


def hash_of(one: Alert) -> int:
    """The same for the same alert, from whichever process."""
    from zlib import crc32

    return crc32(f"{one.rule.name}\0{one.subject}".encode())


def moment(wall_ms: int) -> str:
    return datetime.fromtimestamp(wall_ms / 1000, UTC).isoformat(timespec="milliseconds")

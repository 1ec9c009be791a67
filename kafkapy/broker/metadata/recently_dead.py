"""Brokers that died a moment ago: clients go on being told where they were.

    hung up, then fenced, no goodbye --> among Metadata's brokers --+--> it is back, or unregistered
                                                                    +--> a session is over

Apache Kafka notices a death when the broker's session ends, and names the broker until then; here
it is known within milliseconds (controller/dead_brokers.py). A client had better not hear both at
once, that others lead and that the broker is no more: librdkafka 2.16 moves the partitions to their
new leaders then, takes them back while it removes the broker, and waits a second or two for the
next answer. So the broker stays on the list until a session is over since it hung up. It leads
nothing. One that was fenced because its session ended, cut off or paused, is off the list at once:
it may still take clients' connections, and cannot do for them what needs the controller.
"""

from collections.abc import Callable

from kafkapy.core.seams import Callback, Clock, Timer
from kafkapy.core.time import Instant, later
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage


class RecentlyDead:
    """As one broker sees it. Empty nearly always."""

    def __init__(
        self,
        clock: Clock,
        hung_up_at: Callable[[int], Instant | None],
        session_ms: Callable[[], int],
        changed: Callback,
    ) -> None:
        """`changed`: one of them is over, without any change of the metadata."""
        self._clock = clock
        self._hung_up_at = hung_up_at
        self._session_ms = session_ms
        self._changed = changed
        self._timers: dict[int, Timer] = {}

    def __contains__(self, broker_id: object) -> bool:
        return broker_id in self._timers

    def follow(self, image: MetadataImage, delta: Delta) -> None:
        for broker_id, before in delta.brokers.items():
            broker = image.brokers.get(broker_id)
            if broker is None or not broker.fenced:
                self._forget(broker_id)
            elif before is not None and not before.fenced and not broker.in_controlled_shutdown:
                self._died(broker_id)

    def _died(self, broker_id: int) -> None:
        def over() -> None:
            self._forget(broker_id)
            self._changed()

        self._forget(broker_id)
        hung_up_at = self._hung_up_at(broker_id)
        if hung_up_at is not None:
            until = later(hung_up_at, self._session_ms())
            if until > self._clock.now():
                self._timers[broker_id] = self._clock.call_at(until, over)

    def _forget(self, broker_id: int) -> None:
        timer = self._timers.pop(broker_id, None)
        if timer is not None:
            timer.cancel()

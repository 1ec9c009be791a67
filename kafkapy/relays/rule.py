"""What a topic has its records undergo, and what a record says of itself in its headers.

    kafkapy.delay.ms      wait so long after the record's timestamp
    kafkapy.deliver.at    wait until then (milliseconds since the epoch)
    kafkapy.cancel        of the records before it, those with its key that still wait are dropped
    kafkapy.attempts      how often the record was given back by a retry topic
    kafkapy.origin.*      where it was when it failed first; whoever gives it up writes them
    kafkapy.error         why it failed last; the same

Everything here is total: a header that says no number counts as not there.
"""

from typing import Final, NamedTuple

from kafkapy.protocol.batches.records import Headers, NewRecord, Record

DELAY: Final = "kafkapy.delay.ms"
DELIVER_AT: Final = "kafkapy.deliver.at"
CANCEL: Final = "kafkapy.cancel"
ATTEMPTS: Final = "kafkapy.attempts"
ORIGIN_TOPIC: Final = "kafkapy.origin.topic"
ORIGIN_PARTITION: Final = "kafkapy.origin.partition"
ORIGIN_OFFSET: Final = "kafkapy.origin.offset"
ERROR: Final = "kafkapy.error"

# Due before anything else: there is nothing to wait for.
AT_ONCE: Final = -1
# Some 280 years: what is due later never comes, and entries stay small.
LATEST_MS: Final = (1 << 43) - 1
_DIGITS: Final = 19
# What a relayed record must not take along: it would act again in the target.
_SPENT: Final = frozenset({DELAY, DELIVER_AT})


class Timing(NamedTuple):
    """What of a rule says whether a record waits, and until when: it stays with the record."""

    delay_ms: int = 0
    retry_delays_ms: tuple[int, ...] = ()
    where: str = ""


class Rule(NamedTuple):
    """A topic's settings (broker/config/table/keys/relays.py). `where`: an expression
    (expressions/), which records at all; `otherwise`: where the others go, at once. `hook`: the
    name of who says what leaves of a record (hooks/)."""

    target: str
    delay_ms: int = 0
    retry_delays_ms: tuple[int, ...] = ()
    dead_letters: str = ""
    where: str = ""
    hook: str = ""
    otherwise: str = ""

    @property
    def timing(self) -> Timing:
        return Timing(self.delay_ms, self.retry_delays_ms, self.where)

    def under(self, timing: Timing) -> "Rule":
        """For records that were looked at when this was in force."""
        return self._replace(**timing._asdict())

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(one for one in (self.target, self.dead_letters, self.otherwise) if one)

    @property
    def targets_at_once(self) -> tuple[str, ...]:
        """Those that records reach whatever they say without ever waiting here; a record's own
        header is spent with the first relay. Who came back too often is a dead letter at once, and
        keeps saying so."""
        waits = self.delay_ms or self.retry_delays_ms
        at_once = ("" if waits else self.target, self.dead_letters, self.otherwise)
        return tuple(one for one in at_once if one)


class Sent(NamedTuple):
    """`partition`: where it is to go, if the record itself says so; -1: not."""

    topic: str
    record: NewRecord
    partition: int = -1


def why_not(rule: Rule, topic: str) -> str | None:
    """What makes no sense, whatever the records."""
    if topic in rule.targets:
        return f"{topic} would relay into itself"
    if rule.retry_delays_ms and not rule.dead_letters:
        return "a retry topic needs kafkapy.relay.dead.letter.topic: tries come to an end"
    if rule.dead_letters and not rule.retry_delays_ms:
        return "kafkapy.relay.dead.letter.topic is for topics with kafkapy.relay.retry.delays"
    if rule.dead_letters == rule.target:
        return "the topic of dead letters is the target"
    if rule.otherwise and not rule.where:
        return "kafkapy.relay.otherwise is for topics with kafkapy.relay.where"
    return None


def is_cancel(record: Record) -> bool:
    return CANCEL in dict(record.headers)


def due_ms(rule: Rule, record: Record) -> int:
    """When it is due by wall clocks; AT_ONCE if it need not wait."""
    if rule.retry_delays_ms:
        attempts = number(record.headers, ATTEMPTS) or 0
        if attempts >= len(rule.retry_delays_ms):
            return AT_ONCE
        return _bounded(record.timestamp + rule.retry_delays_ms[attempts])
    delay_ms = rule.delay_ms
    if record.headers:
        at = number(record.headers, DELIVER_AT)
        if at is not None:
            return _bounded(at)
        said = number(record.headers, DELAY)
        delay_ms = delay_ms if said is None else said
    return _bounded(record.timestamp + delay_ms) if delay_ms > 0 else AT_ONCE


def sent(rule: Rule, record: Record, due: int) -> Sent:
    """What is written where. What has waited has the time at which it was due."""
    headers = record.headers
    timestamp = record.timestamp if due == AT_ONCE else due
    if rule.retry_delays_ms:
        attempts = number(headers, ATTEMPTS) or 0
        if attempts >= len(rule.retry_delays_ms):
            timestamp = record.timestamp
            return Sent(rule.dead_letters, NewRecord(record.key, record.value, timestamp, headers))
        headers = (*without(headers, ATTEMPTS), (ATTEMPTS, b"%d" % (attempts + 1)))
        partition = -1
        if text(headers, ORIGIN_TOPIC) == rule.target:
            origin = number(headers, ORIGIN_PARTITION)
            partition = -1 if origin is None else origin
        record_out = NewRecord(record.key, record.value, timestamp, headers)
        return Sent(rule.target, record_out, partition)
    if headers:
        headers = tuple(one for one in headers if one[0] not in _SPENT)
    return Sent(rule.target, NewRecord(record.key, record.value, timestamp, headers))


def passed_on(rule: Rule, record: Record) -> Sent | None:
    """What `where` is not for, as it is."""
    if not rule.otherwise:
        return None
    same = NewRecord(record.key, record.value, record.timestamp, record.headers)
    return Sent(rule.otherwise, same)


def number(headers: Headers, name: str) -> int | None:
    """The last header of that name, if it is a number of milliseconds or the like."""
    for key, value in reversed(headers):
        if key == name:
            if value is None or len(value) > _DIGITS or not value.isdigit():
                return None
            return int(value)
    return None


def text(headers: Headers, name: str) -> str | None:
    for key, value in reversed(headers):
        if key == name:
            return None if value is None else value.decode(errors="replace")
    return None


def without(headers: Headers, name: str) -> Headers:
    return tuple(one for one in headers if one[0] != name)


def _bounded(due: int) -> int:
    return min(max(due, 0), LATEST_MS)

"""Transactional ids, and the transactions that are open: since when, and where; ending one."""

import time
from datetime import datetime, timedelta
from typing import Any, Final

import trio

from kafkapy.core.errors import ErrorCode
from kafkapy.http.console.asked import Asked, Pages, told
from kafkapy.http.console.paging import part_of
from kafkapy.http.kafka.client import TRANSACTION
from kafkapy.http.kafka.errors import check
from kafkapy.http.problems import Problem
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey

_ROWS: Final = 25
_PAUSE_SECONDS: Final = 0.05
_ONGOING: Final = "Ongoing"
# What nobody has ended for that long is worth a look, whatever its timeout.
_LONG_MS: Final = 60_000
_ANY: Final = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1}


async def show(asked: Asked) -> Any:
    text = asked.query("q").lower()
    answers, failed = told(await asked.kafka.ask_all(ApiKey.LIST_TRANSACTIONS, _ANY))
    listed = [
        one
        for answer in answers.values()
        if not answer.error_code
        for one in answer.transaction_states
        if text in one.transactional_id.lower()
    ]
    # This node's answer is of those that one may see; others' were asked in its name.
    names = sorted({one.transactional_id for one in listed})
    seen = await asked.kafka.allowed(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, names)
    listed = [one for one in listed if one.transactional_id in seen]
    # Open ones first: they are what somebody looks for.
    listed.sort(key=lambda one: (one.transaction_state != _ONGOING, one.transactional_id))
    part = part_of(asked, listed, _ROWS)
    rows = [await _described(asked, one.transactional_id) for one in part.rows]
    count = sum(one.transaction_state == _ONGOING for one in listed)
    return asked.page(
        "transactions.html",
        part=part,
        rows=rows,
        count=count,
        text=asked.query("q"),
        failed=sorted(failed),
    )


async def one_id(asked: Asked) -> Any:
    name = asked.query("id")
    if not name:
        raise Problem(404, "which transactional id? …/console/transaction?id=")
    found = await _described(asked, name)
    return asked.page("transaction.html", name=name, found=found)


async def end(asked: Asked) -> Any:
    """The id is taken over as a new producer would: what is open is aborted, and whoever had
    the id is fenced."""
    name = (await asked.fields()).get("id", "")
    found = await _described(asked, name)
    if found["age"] is None:
        raise Problem(409, f"{name} has no transaction that is open (any more)")
    body = {
        "transactional_id": name,
        "transaction_timeout": found["timeout"],
        "producer_id": -1,
        "producer_epoch": -1,
    }
    with asked.needs("WRITE", "TRANSACTIONAL_ID", name):
        check(await _take_over(asked, name, body), name)
    return asked.go("/console/transaction", id=name, done="aborted")


async def _take_over(asked: Asked, name: str, body: dict[str, Any]) -> int:
    """While the transaction is being aborted its id is said to be in use."""
    deadline = trio.current_time() + asked.kafka.timeout_ms / 1000
    while True:
        answer = await asked.kafka.ask_coordinator(
            name, ApiKey.INIT_PRODUCER_ID, body, lambda one: int(one.error_code), TRANSACTION
        )
        is_ending = answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
        if not is_ending or trio.current_time() > deadline:
            return int(answer.error_code)
        await trio.sleep(_PAUSE_SECONDS)


async def _described(asked: Asked, name: str) -> dict[str, Any]:
    with asked.needs("DESCRIBE", "TRANSACTIONAL_ID", name):
        answer = await asked.kafka.ask_coordinator(
            name,
            ApiKey.DESCRIBE_TRANSACTIONS,
            {"transactional_ids": [name]},
            lambda one: int(one.transaction_states[0].error_code),
            TRANSACTION,
        )
        row = answer.transaction_states[0]
        check(row.error_code, name)
    topics = [each.topic for each in row.topics]
    seen = await asked.kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, topics)
    is_open = row.transaction_state == _ONGOING
    started = _milliseconds(row.transaction_start_time) if is_open else None
    age = None if started is None else max(0, int(time.time() * 1000) - started)
    return {
        "id": name,
        "state": row.transaction_state,
        "producer": row.producer_id,
        "epoch": row.producer_epoch,
        "timeout": _milliseconds(row.transaction_timeout),
        "started": started,
        "age": age,
        "is_long": age is not None and age > _LONG_MS,
        "partitions": sorted(
            (each.topic, one)
            for each in row.topics
            if each.topic in seen
            for one in each.partitions
        ),
    }


def _milliseconds(found: Any) -> int:
    if isinstance(found, datetime):
        return int(found.timestamp() * 1000)
    if isinstance(found, timedelta):
        return found // timedelta(milliseconds=1)
    return int(found)


PAGES: Pages = (
    ("GET", "/console/transactions", show),
    ("GET", "/console/transaction", one_id),
    ("POST", "/console/transaction/end", end),
)

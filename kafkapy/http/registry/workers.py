"""Asking a worker process (worker.py): one, started when there is something to ask.

    canonical text of what was seen before    remembered, nobody is asked
    anything else                             one question at a time, within a time
    longer than that                          the process ends, the schema is refused

Schemas of strangers are so kept away from the node: what one takes, in time or memory, it takes
from the next who registers one. A process that nobody has asked for a while is let go.
"""

from __future__ import annotations

import base64
import json
import subprocess  # nosec B404 - what it starts is named here
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import trio

from kafkapy.http.registry.errors import ErrorCode, RegistryError, invalid_schema
from kafkapy.http.registry.evaluation import Rules
from kafkapy.http.registry.languages.source import Source, Unfit
from kafkapy.http.registry.worker import source_to_json

QUESTION_SECONDS = 15.0
#: Records that somebody looks at.
READING_SECONDS = 3.0
#: The first question waits for the process and the language's libraries.
START_SECONDS = 30.0
IDLE_SECONDS = 120.0
MAX_WAITING = 32
#: Of canonical texts, in characters.
_REMEMBERED = 8_000_000
_CHUNK = 1 << 20
# Which schema, whether normalized, and whether read strictly.
_Known = tuple[Source, bool, bool]


class Workers:
    """What schemas say, asked elsewhere."""

    def __init__(self) -> None:
        self._process: trio.Process | None = None
        self._turn = trio.Lock()
        self._last_asked = 0.0
        self._known: OrderedDict[_Known, str] = OrderedDict()
        self._known_size = 0

    async def canonical(
        self, source: Source, *, is_normalized: bool = False, is_strict: bool = False
    ) -> str:
        """The text to store. RegistryError if it is no schema."""
        key = source, is_normalized, is_strict
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known
        made = await self._ask("canonical", source, normalize=is_normalized, strict=is_strict)
        self._remember(key, str(made))
        return str(made)

    async def fields(self, source: Source) -> list[str]:
        """Names at its top."""
        asked: list[str] = await self._ask("fields", source)
        return asked

    async def formatted(self, source: Source, form: str) -> str:
        return str(await self._ask("formatted", source, format=form))

    async def incompatibilities(
        self, new: Source, olds: Sequence[Source], rules: Rules
    ) -> list[str]:
        """Sentences; none if it is compatible."""
        if not olds or rules.level == "NONE":
            return []
        asked: list[str] = await self._ask(
            "incompatibilities",
            new,
            olds=[source_to_json(old) for old in olds],
            level=str(rules.level),
            lenient=rules.is_lenient,
        )
        return asked

    async def readable(
        self, source: Source, values: Sequence[bytes], most: int, *, is_pretty: bool = False
    ) -> list[str | None]:
        """What values say, as JSON for people; None for one that is not of this schema."""
        written = [base64.b64encode(each).decode() for each in values]
        asked: list[str | None] = await self._ask(
            "readable",
            source,
            READING_SECONDS,
            values=written,
            most=most,
            pretty=is_pretty,
        )
        return asked

    async def written(
        self, source: Source, values: Sequence[Any], message: str | None
    ) -> list[bytes | Unfit]:
        """Each value's bytes, or why it does not fit the schema."""
        told = await self._ask("written", source, values=values, message=message)
        return [_or_why(each, base64.b64decode) for each in told]

    async def read(self, source: Source, datas: Sequence[bytes]) -> list[Any]:
        """Each value, or Unfit."""
        encoded = [base64.b64encode(each).decode() for each in datas]
        return [_or_why(each) for each in await self._ask("read", source, datas=encoded)]

    async def close(self) -> None:
        """No process is left behind."""
        with trio.CancelScope(shield=True):
            await self._end()

    async def let_go_when_idle(self) -> None:
        """Runs beside."""
        while True:
            await trio.sleep(IDLE_SECONDS)
            if self._turn.locked() or trio.current_time() - self._last_asked < IDLE_SECONDS:
                continue
            await self._end()

    def _remember(self, key: _Known, made: str) -> None:
        size = sum(len(text) for text in (key[0].text, made, *(i.text for i in key[0].imports)))
        if size > _REMEMBERED // 8:
            return
        self._known[key] = made
        self._known_size += size
        while self._known_size > _REMEMBERED:
            (source, *_), text = self._known.popitem(last=False)
            self._known_size -= len(source.text) + len(text)
            self._known_size -= sum(len(each.text) for each in source.imports)

    async def _ask(
        self, ask: str, source: Source, seconds: float | None = None, **more: Any
    ) -> Any:
        if self._turn.statistics().tasks_waiting >= MAX_WAITING:
            raise RegistryError(ErrorCode.TIMEOUT, "too many schemas wait to be read")
        question = json.dumps({"ask": ask, "source": source_to_json(source), **more})
        async with self._turn:
            self._last_asked = trio.current_time()
            answer = await self._answered(
                question.encode() + b"\n", QUESTION_SECONDS if seconds is None else seconds
            )
        if "invalid" in answer:
            raise invalid_schema(f"Invalid schema of type {source.type}: {answer['invalid']}")
        return answer["is"]

    async def _answered(self, question: bytes, seconds: float) -> dict[str, Any]:
        is_new = self._process is None
        if self._process is None:
            self._process = await trio.lowlevel.open_process(
                [sys.executable, "-m", "kafkapy.http.registry.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        is_answered = False
        try:
            with trio.move_on_after(START_SECONDS if is_new else seconds):
                line = await _exchanged(self._process, question)
                is_answered = bool(line)
                if line:
                    answer: dict[str, Any] = json.loads(line)
                    return answer
        except trio.BrokenResourceError:
            pass
        finally:
            # Also when who asked has gone: its answer would be taken for the next one's.
            if not is_answered:
                with trio.CancelScope(shield=True):
                    await self._end()
        raise invalid_schema("it takes too long, or too much memory, to be understood")

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdin.aclose()
        await process.stdout.aclose()


def _or_why(told: dict[str, Any], make: Callable[[Any], Any] = lambda each: each) -> Any:
    return Unfit(told["invalid"]) if "invalid" in told else make(told["is"])


async def _exchanged(process: trio.Process, question: bytes) -> bytes:
    """One line there, one line back; nothing if the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.send_all(question)
    got = bytearray()
    while not got.endswith(b"\n"):
        chunk = await process.stdout.receive_some(_CHUNK)
        if not chunk:
            return b""
        got += chunk
    return bytes(got)

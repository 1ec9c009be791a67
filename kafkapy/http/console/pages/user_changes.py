"""Users who log in by SCRAM: another password, a new user, and no longer one.

What leaves for Kafka is salted, as `kafkapy users` has it. A password is never in an address, and
stands in no page.
"""

import secrets
from functools import partial
from typing import Any, Final

import trio

from kafkapy.http.console.asked import Asked, Pages, number
from kafkapy.http.console.pages.security import credentials
from kafkapy.http.console.seeing import until_seen
from kafkapy.http.kafka.errors import check
from kafkapy.http.problems import Problem
from kafkapy.kraft.acls import CLUSTER_NAME
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey

_SALT_BYTES: Final = 16


async def ask_add(asked: Asked) -> Any:
    return asked.page(
        "add_user.html",
        user=asked.query("user"),
        mechanism=asked.query("mechanism", scram.SHA_512.name),
        mechanisms=tuple(scram.MECHANISMS),
        least=scram.MIN_ITERATIONS,
        most=scram.MAX_ITERATIONS,
        is_plain=asked.request.url.scheme != "https",
    )


async def add(asked: Asked) -> Any:
    fields = await asked.fields()
    user, mechanism = _user(fields), _mechanism(fields)
    password = fields.get("password", "")
    if not password:
        raise Problem(400, "an empty password lets nobody in")
    if password != fields.get("again", ""):
        raise Problem(400, "these are two passwords")
    iterations = number(
        fields.get("iterations", ""),
        "iterations",
        scram.MIN_ITERATIONS,
        scram.MIN_ITERATIONS,
        scram.MAX_ITERATIONS,
    )
    salt = secrets.token_bytes(_SALT_BYTES)
    # Some milliseconds, without the interpreter: not on the thread of all pages.
    salted = await trio.to_thread.run_sync(
        partial(scram.salted_password, mechanism, password, salt, iterations)
    )
    upsertion = {
        "name": user,
        "mechanism": mechanism.type,
        "iterations": iterations,
        "salt": salt,
        "salted_password": salted,
    }
    await _alter(asked, {"deletions": [], "upsertions": [upsertion]})
    wanted = (user, mechanism.name, iterations)
    await _until(asked, wanted, is_there=True)
    return asked.go("/console/users", done="user")


async def ask_remove(asked: Asked) -> Any:
    user, mechanism = asked.query("user"), asked.query("mechanism")
    return asked.page("remove_user.html", user=user, mechanism=mechanism)


async def remove(asked: Asked) -> Any:
    fields = await asked.fields()
    user, mechanism = _user(fields), _mechanism(fields)
    deletion = {"name": user, "mechanism": mechanism.type}
    await _alter(asked, {"deletions": [deletion], "upsertions": []})
    await _until(asked, (user, mechanism.name, None), is_there=False)
    return asked.go("/console/users", done="user-gone")


async def _alter(asked: Asked, body: dict[str, Any]) -> None:
    answer = await asked.kafka.ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, body)
    with asked.needs("ALTER", "CLUSTER", CLUSTER_NAME):
        for one in answer.results:
            check(one.error_code, one.user, one.error_message)


async def _until(asked: Asked, wanted: tuple[str, str, int | None], *, is_there: bool) -> None:
    async def has_come() -> bool:
        rows = [row for row in await credentials(asked) if row[:2] == wanted[:2]]
        return any(row == wanted for row in rows) if is_there else not rows

    await until_seen(has_come)


def _user(fields: dict[str, str]) -> str:
    user = fields.get("user", "").strip()
    if not user:
        raise Problem(400, "a user has a name")
    return user


def _mechanism(fields: dict[str, str]) -> scram.ScramMechanism:
    found = scram.MECHANISMS.get(fields.get("mechanism", ""))
    if found is None:
        raise Problem(400, f"a mechanism is one of {', '.join(scram.MECHANISMS)}")
    return found


PAGES: Pages = (
    ("GET", "/console/users/add", ask_add),
    ("POST", "/console/users/add", add),
    ("GET", "/console/users/remove", ask_remove),
    ("POST", "/console/users/remove", remove),
)

"""`--add-scram`, as kafka-storage takes it, and the record it asks for.

SCRAM-SHA-256=[name=alice,password=her-secret]
SCRAM-SHA-512=[name="alice",iterations=8192,salt="base64",saltedpassword="base64"]
"""

import re
import secrets
from base64 import b64decode
from typing import Final

from kafkapy.cli.main import Failed
from kafkapy.kraft.controller.access.scram import credential_record
from kafkapy.kraft.records.metadata import UserScramCredentialRecord
from kafkapy.protocol import scram

_ARGUMENT: Final = re.compile(r"(?P<mechanism>[A-Z0-9-]+)=\[(?P<pairs>.*)\]", re.DOTALL)
_PAIR: Final = re.compile(
    r"""\s*(?P<name>\w+)=(?:"(?P<quoted>[^"]*)"|(?P<plain>[^,"]*))\s*(?:,|$)"""
)
_KNOWN: Final = frozenset({"name", "password", "iterations", "salt", "saltedpassword"})
_SALT_BYTES: Final = 16


def scram_record(argument: str) -> UserScramCredentialRecord:
    """Failed, without the argument itself: it may hold a password."""
    found = _ARGUMENT.fullmatch(argument.strip())
    if found is None:
        raise Failed("--add-scram: expected SCRAM-SHA-256=[name=NAME,password=PASSWORD]")
    mechanism = scram.MECHANISMS.get(found["mechanism"])
    if mechanism is None:
        raise Failed(f"--add-scram: {found['mechanism']} is none of {', '.join(scram.MECHANISMS)}")
    given = _pairs(found["pairs"])
    if not given.get("name"):
        raise Failed("--add-scram: it must have a name")
    iterations = _iterations(given.get("iterations", str(scram.MIN_ITERATIONS)))
    salt = _decoded("salt", given["salt"]) if "salt" in given else secrets.token_bytes(_SALT_BYTES)
    if ("password" in given) == ("saltedpassword" in given):
        raise Failed("--add-scram: it must have one of password and saltedpassword")
    if "password" in given:
        salted = scram.salted_password(mechanism, given["password"], salt, iterations)
    elif "salt" in given:
        salted = _decoded("saltedpassword", given["saltedpassword"])
    else:
        raise Failed("--add-scram: saltedpassword goes with its salt")
    kept = scram.credential_of(mechanism, salted, salt, iterations)
    return credential_record(given["name"], mechanism, kept)


def _pairs(text: str) -> dict[str, str]:
    given: dict[str, str] = {}
    at = 0
    while at < len(text):
        found = _PAIR.match(text, at)
        if found is None or found["name"] not in _KNOWN:
            raise Failed(f"--add-scram: expected {', '.join(sorted(_KNOWN))}, each as NAME=VALUE")
        quoted = found["quoted"]
        given[found["name"]] = found["plain"] if quoted is None else quoted
        at = found.end()
    return given


def _iterations(text: str) -> int:
    least, most = scram.MIN_ITERATIONS, scram.MAX_ITERATIONS
    if not text.isdecimal() or not least <= int(text) <= most:
        raise Failed(f"--add-scram: iterations are {least} to {most}")
    return int(text)


def _decoded(name: str, text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise Failed(f"--add-scram: {name} is not base64") from None

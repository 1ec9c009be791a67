"""What the registry refuses, by Confluent's numbers: the first three digits are the HTTP status."""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """Clients tell refusals apart by these."""

    SUBJECT_NOT_FOUND = 40401
    VERSION_NOT_FOUND = 40402
    SCHEMA_NOT_FOUND = 40403
    SUBJECT_SOFT_DELETED = 40404
    SUBJECT_NOT_SOFT_DELETED = 40405
    VERSION_SOFT_DELETED = 40406
    VERSION_NOT_SOFT_DELETED = 40407
    SUBJECT_COMPATIBILITY_NOT_CONFIGURED = 40408
    SUBJECT_MODE_NOT_CONFIGURED = 40409
    INCOMPATIBLE_SCHEMA = 409
    INVALID_SCHEMA = 42201
    INVALID_VERSION = 42202
    INVALID_COMPATIBILITY = 42203
    INVALID_MODE = 42204
    NOT_PERMITTED = 42205
    REFERENCE_EXISTS = 42206
    ID_DOES_NOT_MATCH = 42207
    INVALID_SUBJECT = 42208
    SCHEMA_TOO_LARGE = 42209
    INVALID_RULE_SET = 42210
    CONTEXT_NOT_EMPTY = 42211
    UNPROCESSABLE = 422
    FORBIDDEN = 40301
    STORE = 50001
    TIMEOUT = 50002
    FORWARDING = 50003
    UNKNOWN_LEADER = 50004


class RegistryError(Exception):
    """A refusal, as the client gets it."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        digits = str(int(self.code))
        return int(digits[:3])


def subject_not_found(subject: str | None) -> RegistryError:
    return RegistryError(ErrorCode.SUBJECT_NOT_FOUND, f"Subject '{subject}' not found.")


def version_not_found(version: int | str) -> RegistryError:
    return RegistryError(ErrorCode.VERSION_NOT_FOUND, f"Version {version} not found.")


def schema_not_found(which: int | str | None = None) -> RegistryError:
    return RegistryError(
        ErrorCode.SCHEMA_NOT_FOUND,
        "Schema not found" if which is None else f"Schema {which} not found",
    )


def invalid_schema(why: str) -> RegistryError:
    return RegistryError(ErrorCode.INVALID_SCHEMA, why)


def not_permitted(why: str) -> RegistryError:
    return RegistryError(ErrorCode.NOT_PERMITTED, why)


def unprocessable(why: str) -> RegistryError:
    return RegistryError(ErrorCode.UNPROCESSABLE, why)

"""What `dump-log` does not show of the metadata log: a dump is sent around, a log is not.

ConfigRecord               values of settings that are secret, or that nobody knows
UserScramCredentialRecord  what a password could be guessed by
"""

from dataclasses import replace
from typing import Any, Final

from kafkapy.broker.config.resources import Resource
from kafkapy.broker.config.table.broker_keys import key_of
from kafkapy.kraft.records.metadata import ConfigRecord, UserScramCredentialRecord

_HIDDEN: Final = "[hidden]"


def without_secrets(record: Any) -> Any:
    if isinstance(record, UserScramCredentialRecord):
        hidden = _HIDDEN.encode()
        return replace(record, salt=hidden, stored_key=hidden, server_key=hidden)
    if isinstance(record, ConfigRecord) and record.value is not None and _is_secret(record):
        return replace(record, value=_HIDDEN)
    return record


def _is_secret(record: ConfigRecord) -> bool:
    if record.resource_type != Resource.BROKER:
        return False
    key = key_of(record.name)
    return key is None or key.is_sensitive

"""Kafka's error codes by name: `from kafkapy.testing.errors import NOT_LEADER_OR_FOLLOWER`."""

from kafkapy.core.errors import ErrorCode


def __getattr__(name: str) -> ErrorCode:
    try:
        return ErrorCode[name]
    except KeyError:
        raise AttributeError(f"Kafka has no error called {name!r}") from None

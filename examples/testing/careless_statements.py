"""Ways to get statements.py wrong; test_statements.py finds each of them."""

from typing import Any, ClassVar

from statements import TOPIC, Statements


class BelievesAnybody(Statements):
    """It worked once the certificate was not looked at any more."""

    SETTINGS: ClassVar[dict[str, Any]] = {
        **Statements.SETTINGS,
        "enable.ssl.certificate.verification": False,
    }


class BelievesAnyHost(Statements):
    SETTINGS: ClassVar[dict[str, Any]] = {
        **Statements.SETTINGS,
        "ssl.endpoint.identification.algorithm": "none",
    }


class DoesNotAsk(Statements):
    """Sends, and takes no interest in what came of it."""

    def send(self, account: str, statement: str) -> None:
        self.producer.produce(TOPIC, statement, account)
        self.flush()


class SaysNothingOfWhy(Statements):
    """Whoever is on call is told of a timeout, not of a password."""

    def heard(self, error: Any) -> None:
        pass

"""ListTransactions, v0-2 (KIP-664). v1 duration filter (KIP-994), v2 id pattern (KIP-1152)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import allows
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.regex import InvalidRegex, TopicRegex, compile_regex
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.txn.events import ListTransactions, TransactionListed
from kafkapy.txn.states import STATES_BY_LABEL

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.list_transactions.v2.request import ListTransactionsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasTransactions

    class Needs(HasAuthorizer, HasTransactions, Protocol): ...


def handle(node: "Needs", call: "Call[ListTransactionsRequest]") -> Answer:
    body = call.body
    pattern = _pattern(optional(body, "transactional_id_pattern", None))
    known = frozenset(
        STATES_BY_LABEL[label] for label in body.state_filters if label in STATES_BY_LABEL
    )
    event = ListTransactions(
        states=known if body.state_filters else None,
        producer_ids=frozenset(body.producer_id_filters),
        longer_than_ms=optional(body, "duration_filter", -1),
    )
    later = Later()

    def listed(found: Sequence[TransactionListed]) -> None:
        later.resolve(
            {
                "throttle_time": 0,
                "error_code": ErrorCode.NONE,
                "unknown_state_filters": [
                    label for label in body.state_filters if label not in STATES_BY_LABEL
                ],
                "transaction_states": [
                    {
                        "transactional_id": one.transactional_id,
                        "producer_id": one.producer_id,
                        "transaction_state": one.label,
                    }
                    for one in found
                    if (pattern is None or pattern.matches(one.transactional_id))
                    and allows(
                        node,
                        call,
                        Operation.DESCRIBE,
                        ResourceType.TRANSACTIONAL_ID,
                        one.transactional_id,
                    )
                ],
            }
        )

    node.transactions.list(event, listed)
    return later


def _pattern(text: str | None) -> TopicRegex | None:
    """The same RE2 as in group subscriptions: it cannot be made to run for ever."""
    if not text:
        return None
    try:
        return compile_regex(text)
    except InvalidRegex as invalid:
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, str(invalid)) from None

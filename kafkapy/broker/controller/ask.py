"""A handler's question to this node's controller, answered later.

Handlers that ask are the controller's: a broker hands their requests on before they are
handled (requests/dispatch.py). Where this controller is not active, NOT_CONTROLLER tells
whoever asked to look for another.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Fields, Later
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.machine import Event
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import HasController


def ask(
    node: "HasController",
    event: Event,
    answer: Callable[[Any], Fields],
    refusal: Callable[[Refused], Fields],
) -> Later:
    """`answer` makes the response of the reply, `refusal` the one of a refused request."""
    later = Later()

    def decided(outcome: Any) -> None:
        later.resolve(refusal(outcome) if isinstance(outcome, Refused) else answer(outcome))

    node.controller.submit(event, decided)
    return later


def whole(refused: Refused) -> Fields:
    """The response of an API that has an error field and a sentence for the whole request."""
    return {**code(refused), "error_message": refused.message}


def code(refused: Refused) -> Fields:
    """The response of an API between nodes: an error code and no sentence."""
    return {"throttle_time": 0, "error_code": refused.code}


def verdict(refused: Refused | None) -> Fields:
    """The error fields of one item, with the refusal's own sentence if it has one."""
    if refused is None:
        return {"error_code": ErrorCode.NONE, "error_message": None}
    return {"error_code": refused.code, "error_message": refused.message}


def explained(refused: Refused | None) -> Fields:
    """The error fields of one item; a refusal without a sentence gets its code's."""
    message = None if refused is None else message_of(refused)
    return {**verdict(refused), "error_message": message}

"""CreateTopics handed on: the answer waits until this broker knows the topics, too.

    controller in another process: created --> this broker's metadata has them, its part of them
                                               is served --> answered
                                           \\-> the request's timeout: answered all the same

A client that asks for the topic next, where it created it, finds it; how far other brokers are,
which lead its partitions, nobody here can know. In this process the handler has waited already.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.broker.controller.answers import decoded
from kafkapy.broker.requests.request import Answer, Call, Encoded, Later
from kafkapy.broker.requests.translations import millis
from kafkapy.core.time import later

if TYPE_CHECKING:
    from kafkapy.broker.node.broker_role import BrokerRole


def forward(broker: "BrokerRole", request: memoryview, call: Call[Any]) -> Answer:
    body = call.body
    if body.validate_only:
        return broker.link.forward(request, call)
    deadline = later(call.received, millis(body.timeout))
    answer = broker.link.forward(request, call)
    if not isinstance(answer, Later):
        return answer
    promise = Later()

    def answered(resolved: Later) -> None:
        created = resolved.answer
        names: list[str] = []
        if isinstance(created, Encoded):
            names = [one.name for one in decoded(call, created).topics if not one.error_code]
        resolve = partial(_resolve, promise, created)
        if not names or broker.clock.now() >= deadline:
            resolve()
            return

        def in_time() -> None:
            timer.cancel()
            resolve()

        def too_late() -> None:
            broker.awaited_topics.forget(in_time)
            resolve()

        timer = broker.clock.call_at(deadline, too_late)
        broker.awaited_topics.wait(names, in_time)

    answer.when_resolved(answered)
    return promise


def _resolve(promise: Later, answer: Any) -> None:
    if not promise.is_resolved:
        promise.resolve(answer)

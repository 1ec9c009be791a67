"""Hooks: Python that a node asks about records, permissions and connections (docs/HOOKS.md).

kafkapy's own: Apache Kafka knows none of them. A topic's are shown only where they are set.
"""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, int32, string, strings
from kafkapy.broker.config.table.validators import at_least


class SealKeys(Section):
    kafkapy_sealed = boolean(
        False,
        "Whether clients may write nothing more to the topic (docs/SHRINKING.md).",
        internal=True,
    )


class HookTopicKeys(SealKeys):
    kafkapy_hook_produce = string(
        "",
        "Hook that sees each record before it is written, and may change or refuse it.",
        internal=True,
    )

    kafkapy_hook_append = string(
        "",
        "Hook that hears which records can be read now.",
        internal=True,
    )
    kafkapy_hook_view = string(
        "",
        "Hook that says of what kafkapy.view.where lets through whether the view shows it.",
        internal=True,
    )
    kafkapy_hook_relay = string(
        "",
        "Hook that says what of a record is relayed, if anything.",
        internal=True,
    )


class HookKeys(Section):
    kafkapy_hook_authorize = string(
        "",
        "Hook that has the last word on what clients may do, after the ACLs; needs "
        "authorizer.class.name.",
    )
    kafkapy_hook_authorize_cache_ms = int32(
        5000,
        "How long its answers count, and the ACLs' with them.",
        valid=at_least(100),
    )
    kafkapy_hook_connection = string(
        "",
        "Hook that hears of clients' connections.",
    )
    kafkapy_hooks = strings(
        (),
        "Hooks of this node, as name=module:attribute (or module:attribute, whose name is the "
        "attribute's). Those of installed packages (entry points kafkapy.hooks) need not be named.",
    )
    kafkapy_hooks_call_budget_us = int32(
        1000,
        "Microseconds that a call of a hook may take, on the average of those that follow one "
        "that took longer.",
        valid=at_least(1),
    )
    kafkapy_hooks_overdraft_ms = int32(
        1000,
        "How much more than that calls of a hook for one topic may take together, until it is "
        "switched off there.",
        valid=at_least(0),
    )

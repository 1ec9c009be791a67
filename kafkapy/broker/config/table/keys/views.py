"""Views: topics that show what of another topic an expression says (docs/VIEWS.md).

Apache Kafka has no such settings, so a topic's are shown only where they are set.
"""

from typing import Any, Final

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import int64, string
from kafkapy.broker.config.table.validators import Invalid, at_least
from kafkapy.kraft.views import VIEW_OF, VIEW_WHERE


class AnExpression:
    allowed = "an expression (docs/EXPRESSIONS.md)"

    def check(self, value: Any) -> None:
        if value is None:
            return  # not set
        # Few nodes have a view: nobody else imports the language.
        from kafkapy.expressions import InvalidExpression, compile_expression

        try:
            compile_expression(str(value))
        except InvalidExpression as invalid:
            raise Invalid(str(invalid)) from None


AN_EXPRESSION: Final = AnExpression()


class ViewKeys(Section):
    """Of a topic."""

    kafkapy_view_of = string(
        None, "Topic that this one is a view of; given when it is made.", internal=True
    )
    kafkapy_view_where = string(
        None,
        "Which records of that topic the view shows, as an expression.",
        valid=AN_EXPRESSION,
        internal=True,
    )


class ViewsKeys(Section):
    """Of a node."""

    kafkapy_views_cache_bytes = int64(
        32 * 1024 * 1024,
        "Memory for what views show, so that many readers cost one evaluation.",
        valid=at_least(1024 * 1024),
    )


assert {VIEW_OF, VIEW_WHERE} == ViewKeys.table.keys()

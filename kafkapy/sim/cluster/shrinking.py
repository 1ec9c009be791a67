"""A failing run made smaller before anybody looks at it: fewer troubles, fewer clients, shorter.

    leave one out --> does it still break? --> keep it out, and go on

A smaller plan is another run of the same seed, so it may break something else or nothing. What
counts is that the same sentence is said of it, numbers aside.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kafkapy.sim.cluster.plan import Plan

_LEAST_SECONDS: Final = 4
_MOST_RUNS: Final = 60
_SENTENCE: Final = 60  # characters of it that have to be the same

# What breaks when a plan is run; "" if nothing does.
Breaks = Callable[[Plan], str]


def shrink(plan: Plan, said: str, breaks: Breaks) -> Plan:
    """The smallest plan found that breaks as `plan` did, which `said` what it said."""
    runs = 0
    kind = kind_of(said)
    found = True
    while found:
        found = False
        for smaller in _smaller(plan):
            runs += 1
            if runs > _MOST_RUNS:
                return plan
            if kind_of(breaks(smaller)) == kind:
                plan, found = smaller, True
                break
    return plan


def kind_of(said: str) -> str:
    """The beginning of the sentence, without what differs from run to run."""
    first = said.partition("\n")[0]
    return re.sub(r"[0-9a-f]*\d[0-9a-f-]*", "#", first)[:_SENTENCE]


def _smaller(plan: Plan) -> Iterator[Plan]:
    if plan.seconds > _LEAST_SECONDS:
        yield replace(plan, seconds=max(_LEAST_SECONDS, plan.seconds // 2))
    for name in plan.clients:
        yield plan.without_clients(name)
    for name in plan.troubles:
        yield plan.without_trouble(name)

from kafkapy.sim.cluster.plan import Plan
from kafkapy.sim.cluster.shrinking import kind_of, shrink
from kafkapy.sim.cluster.world import COMBINED

PLAN = Plan(7, (COMBINED,) * 3, 60, ("kill", "pause", "cut-pair"), ("admin", "readers"))


def test_what_is_not_needed_is_left_out() -> None:
    def breaks(plan: Plan) -> str:
        is_enough = "pause" in plan.troubles and "admin" in plan.clients and plan.seconds >= 15
        return "n1 lost offset 12" if is_enough else ""

    small = shrink(PLAN, "n2 lost offset 345", breaks)
    assert small == Plan(7, (COMBINED,) * 3, 15, ("pause",), ("admin",))


def test_a_smaller_run_that_breaks_something_else_is_another_failure() -> None:
    def breaks(plan: Plan) -> str:
        return "n1 lost offset 12" if plan == PLAN else "somebody is stuck"

    assert shrink(PLAN, "n1 lost offset 12", breaks) == PLAN


def test_a_kind_of_failure_is_its_sentence_without_numbers() -> None:
    assert kind_of("records-3: ends at 17\nmore") == kind_of("records-1: ends at 4")
    assert kind_of("the image of 1 at 40") != kind_of("both 1 and 2 lead epoch 40")

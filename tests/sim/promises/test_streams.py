"""What the judge of a streams group, and that of its application, do not let pass."""

import pytest

from kafkapy.core.time import Instant
from kafkapy.sim.cluster.clients.streams.application import (
    FIRST_TASKS,
    SECOND_TASKS,
    Application,
    drawn_facts,
    settings_of_group,
)
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.promises.streams import StreamsFacts, Task, Told, Who
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.rng import SimRng

A, B, C = Who("p", "a"), Who("q", "b"), Who("p", "c")
ONE, TWO = ("0", 1), ("0", 2)


def _told(by: Who, epoch: int, asked: int, heard: int) -> Told:
    return Told(by, epoch, Instant(asked), Instant(heard))


def _runs(facts: StreamsFacts, by: Who, now: int, *tasks: Task) -> None:
    facts.runs(by, tasks, (), Instant(now))


def test_a_task_goes_to_another_one_once_it_was_given_up() -> None:
    facts = StreamsFacts("g")
    facts.hears(_told(A, 3, 0, 5), [ONE], [])
    _runs(facts, A, 6, ONE)
    _runs(facts, A, 20)
    facts.hears(_told(B, 4, 21, 25), [ONE], [])
    facts.lives_on(A, Instant(30))


def test_in_an_epoch_a_task_is_one_members() -> None:
    facts = StreamsFacts("g")
    facts.hears(_told(A, 3, 0, 5), [ONE], [])
    facts.hears(_told(B, 4, 0, 5), [ONE], [])
    with pytest.raises(BrokenPromise, match=r"in epoch 3 task \('0', 1\) was a's, and now it is b"):
        facts.hears(_told(B, 3, 7, 9), [ONE], [])


def test_in_a_process_the_state_of_a_task_is_used_once() -> None:
    facts = StreamsFacts("g")
    facts.hears(_told(A, 3, 0, 5), [ONE], [TWO])
    facts.hears(_told(B, 3, 0, 5), [TWO], [ONE])
    with pytest.raises(BrokenPromise, match="both a and c of p have the state of"):
        facts.hears(_told(C, 3, 7, 9), [], [TWO])


@pytest.mark.parametrize("stops", [False, True])
def test_who_was_never_fenced_ran_its_tasks_alone(*, stops: bool) -> None:
    facts = StreamsFacts("g")
    facts.hears(_told(A, 3, 0, 5), [ONE], [])
    _runs(facts, A, 6, ONE)
    facts.hears(_told(B, 4, 8, 9), [ONE], [])
    if stops:
        _runs(facts, A, 10)
    with pytest.raises(BrokenPromise, match="was given the task meanwhile"):
        facts.lives_on(A, Instant(12))


def test_who_was_never_fenced_had_the_state_alone_in_its_process() -> None:
    facts = StreamsFacts("g")
    facts.hears(_told(A, 3, 0, 5), [], [ONE])
    facts.runs(A, [], [ONE], Instant(6))
    facts.hears(_told(B, 4, 8, 9), [ONE], [])  # in another process
    facts.lives_on(A, Instant(12))
    facts.hears(_told(C, 5, 14, 15), [], [ONE])
    with pytest.raises(BrokenPromise, match="was given the task meanwhile"):
        facts.lives_on(A, Instant(16))


def test_who_was_fenced_may_have_run_what_was_anothers() -> None:
    facts = StreamsFacts("g")
    facts.hears(_told(A, 3, 0, 5), [ONE], [])
    _runs(facts, A, 6, ONE)
    facts.hears(_told(B, 4, 8, 9), [ONE], [])
    facts.gives_up(A)
    facts.lives_on(A, Instant(20))


def test_who_lost_a_task_commits_nothing_of_it() -> None:
    facts = StreamsFacts("g")
    facts.hears(_told(A, 3, 0, 5), [ONE], [])
    facts.hears(_told(B, 4, 8, 9), [ONE], [])
    facts.commits(A, ONE, Instant(8))
    facts.commits(B, ONE, Instant(10))
    with pytest.raises(BrokenPromise, match=r"a was given .* in epoch 3, and committed after"):
        facts.commits(A, ONE, Instant(10))
    facts.hears(_told(A, 5, 11, 12), [ONE], [])
    facts.commits(A, ONE, Instant(13))


def test_an_answer_that_was_long_under_way_says_nothing_of_now() -> None:
    """B was given it, was fenced, and heard of it when A had it."""
    facts = StreamsFacts("g")
    facts.hears(_told(A, 4, 4, 5), [ONE], [])
    _runs(facts, A, 6, ONE)
    facts.hears(_told(B, 3, 1, 9), [ONE], [])
    facts.lives_on(A, Instant(12))


def test_all_is_shared_when_every_task_is_active_once_and_has_its_copies() -> None:
    facts = StreamsFacts("g", standbys=1)
    facts.runs(A, [ONE], [], Instant(1))
    assert facts.is_shared([ONE], [ONE])  # there is no other process
    facts.runs(B, [], [], Instant(1))
    assert not facts.is_shared([ONE], [ONE])
    facts.runs(B, [], [ONE], Instant(1))
    assert facts.is_shared([ONE], [ONE])
    assert not facts.is_shared([ONE, TWO], [ONE])
    facts.runs(B, [ONE], [], Instant(1))
    assert not facts.is_shared([ONE], [])


def _application() -> Application:
    clock = SimClock()
    return Application(clock, StreamsFacts("g"), SimRng(1), 1, lambda: True, lambda: False)


def test_what_was_not_processed_is_missed() -> None:
    application = _application()
    application.judge(["v1", "v2", "v4"], [[], ["v1", "v4", "v1"], ["v2"]])
    with pytest.raises(BrokenPromise, match=r"partition 1, \['v4'\] were not processed"):
        application.judge(["v1", "v2", "v4"], [[], ["v1"], ["v2"]])
    with pytest.raises(BrokenPromise, match=r"\['v3'\] were nobody's"):
        application.judge([], [["v3"], [], []])


def test_it_is_settled_when_what_came_of_the_last_word_is_done_too() -> None:
    application = _application()
    clock, facts = application.clock, application.facts
    assert isinstance(clock, SimClock)
    facts.runs(A, [*FIRST_TASKS, *SECOND_TASKS], [], Instant(0))
    assert not application.is_settled(is_written=False)
    assert not application.is_settled(is_written=True)
    clock.advance(10)
    facts.done.update(dict.fromkeys((*FIRST_TASKS, *SECOND_TASKS), clock.now()))
    assert not application.is_settled(is_written=True)
    clock.advance(10)
    facts.done.update(dict.fromkeys(SECOND_TASKS, clock.now()))
    assert application.is_settled(is_written=True)


def test_groups_are_set_in_different_ways() -> None:
    drawn = [drawn_facts(SimRng(seed)) for seed in range(40)]
    assert {one.standbys for one in drawn} == {0, 1}
    (told,) = settings_of_group(drawn[0]).body["resources"][0]["configs"]
    assert told["value"] == str(drawn[0].standbys)

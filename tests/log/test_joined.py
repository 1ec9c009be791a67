"""One callback for several flushes."""

from kafkapy.core.errors import DiskFailed
from kafkapy.log.joined import join
from tests.log.support import Answers


def test_the_answer_comes_after_the_last() -> None:
    answers = Answers()
    one_done = join(3, answers)
    one_done(None)
    one_done(None)
    assert answers.errors == []
    one_done(None)
    assert answers.errors == [None]


def test_the_first_failure_is_the_answer() -> None:
    answers, first = Answers(), DiskFailed("/a", "x")
    one_done = join(3, answers)
    one_done(None)
    one_done(first)
    one_done(DiskFailed("/b", "y"))
    assert answers.errors == [first]

"""Each checker catches its own bug, planted in a history, and none minds a right one."""

from collections.abc import Callable

import pytest

from kafkapy.sim.checkers import ALL, Assigned, Send, check
from tests.sim.checkers.samples import FAIL, INFO, OK, Recorder, polled


def right() -> Recorder:
    """Plain and transactional producers, an abort, a crash, two consumers, a rebalance."""
    history = Recorder()
    history.did(1, Send("a", "plain", 0))
    history.transacted(2, Send("a", "x1", 1), Send("b", "y1", 0), polled("in", 0, "i1"))
    history.transacted(2, Send("a", "x2", 3), Send("b", "y2", 2), outcome=FAIL)
    history.transacted(2, Send("a", "x3", 5), Send("b", "y3", None), outcome=INFO)
    history.did(1, Send("a", "refused", None), outcome=FAIL)
    # Markers are at 2, 4 and 6 in a, at 1, 3 and 5 in b: nobody gets them.
    history.did(3, polled("a", 0, "plain", "x1", None), polled("b", 0, "y1", None))
    history.did(3, polled("a", 3, None, None, "x3", None), polled("b", 2, None, None, "y3"))
    history.did(4, polled("a", 0, "plain", "x1", None, "x2"), committed_only=False)
    history.did(3, Assigned("a"), polled("a", 0, "plain"))
    history.did(1, Send("a", "later", 7))
    return history


def aborted_read(history: Recorder) -> None:
    history.transacted(2, Send("c", "z", 0), outcome=FAIL)
    history.did(3, polled("c", 0, "z"))


def refused_read(history: Recorder) -> None:
    history.did(2, Send("c", "z", None), outcome=FAIL)
    history.did(3, polled("c", 0, "z"))


def read_before_commit(history: Recorder) -> None:
    open_transaction = history.invoke(2, is_transaction=True)
    history.did(3, polled("c", 0, "z"))
    history.commit_invoked(open_transaction)
    history.complete(open_transaction, INFO, Send("c", "z", 0))


def read_of_its_own(history: Recorder) -> None:
    history.transacted(2, Send("c", "z", 0), polled("c", 0, "z"))


def lost(history: Recorder) -> None:
    history.did(1, Send("c", "z", 0))
    history.did(1, Send("c", "zz", 1))
    history.did(3, polled("c", 0, None, "zz"))


def lost_though_committed(history: Recorder) -> None:
    history.transacted(2, Send("c", "z", 0))
    history.did(3, polled("c", 0, to=2))


def torn(history: Recorder) -> None:
    history.transacted(2, Send("c", "z1", 0), Send("d", "z2", 0), outcome=INFO)
    history.did(3, polled("c", 0, "z1"), polled("d", 0, to=2))


def twice(history: Recorder) -> None:
    history.did(1, Send("c", "z", 0))
    history.did(3, polled("c", 0, "z", "z"))


def twice_though_acknowledged_once(history: Recorder) -> None:
    history.did(1, Send("c", "z", 5))
    history.did(3, polled("c", 0, "z"))


def two_at_one_offset(history: Recorder) -> None:
    history.did(1, Send("c", "z", 0))
    history.did(5, Send("c", "zz", 0))


def backwards(history: Recorder) -> None:
    history.did(1, Send("c", "z", 0))
    history.did(3, polled("c", 0, "z"))
    history.did(3, polled("c", 0, "z"))


def out_of_order_in_one_poll(history: Recorder) -> None:
    poll = polled("c", 0, "z", "zz")
    history.did(3, poll._replace(reads=tuple(reversed(poll.reads))))


def sent_out_of_order(history: Recorder) -> None:
    history.did(1, Send("c", "z", 1))
    history.did(1, Send("c", "zz", 0))


def sent_out_of_order_in_a_transaction(history: Recorder) -> None:
    history.transacted(2, Send("c", "z", 1), Send("c", "zz", 0), outcome=INFO)


def each_reads_the_other(history: Recorder) -> None:
    one = history.invoke(2, is_transaction=True)
    two = history.invoke(5, is_transaction=True)
    history.commit_invoked(one)
    history.commit_invoked(two)
    history.complete(one, OK, Send("c", "z1", 0), polled("d", 0, "z2"))
    history.complete(two, OK, Send("d", "z2", 0), polled("c", 0, "z1"))


@pytest.mark.parametrize(
    ("kind", "plant"),
    [
        ("aborted read", aborted_read),
        ("aborted read", refused_read),
        ("precommitted read", read_before_commit),
        ("precommitted read", read_of_its_own),
        ("lost write", lost),
        ("lost write", lost_though_committed),
        ("torn transaction", torn),
        ("duplicate", twice),
        ("duplicate", twice_though_acknowledged_once),
        ("inconsistent offsets", two_at_one_offset),
        ("nonmonotonic poll", backwards),
        ("nonmonotonic poll", out_of_order_in_one_poll),
        ("nonmonotonic send", sent_out_of_order),
        ("nonmonotonic send", sent_out_of_order_in_a_transaction),
        ("cycle", each_reads_the_other),
    ],
)
def test_a_planted_bug_is_caught_by_its_checker_alone(
    kind: str, plant: Callable[[Recorder], None]
) -> None:
    history = right()
    plant(history)
    found = check(history)
    assert {anomaly.kind for anomaly in found} == {kind}
    assert all(anomaly.operations and str(anomaly).startswith(anomaly.kind) for anomaly in found)


@pytest.mark.parametrize("name", ALL)
def test_a_right_history_is_passed(name: str) -> None:
    assert list(ALL[name](right())) == []


def test_no_history_is_a_right_history() -> None:
    assert check(Recorder()) == []

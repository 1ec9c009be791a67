"""The sticky assignor: everybody gets as much, tasks stay, copies are elsewhere."""

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.group.streams.configure import Part
from kafkapy.group.streams.member import NOTHING, Target, Task
from kafkapy.group.streams.sticky import Candidate, assign
from kafkapy.group.streams.topology import InternalTopic
from tests.group.streams.client import active, part, standby

LOG = (InternalTopic("log", 1, 0, ()),)


def parts(stateful: dict[str, int], stateless: dict[str, int] | None = None) -> dict[str, Part]:
    found = {name: Part(part(name), count, LOG, ()) for name, count in stateful.items()}
    found |= {n: Part(part(n), count, (), ()) for n, count in (stateless or {}).items()}
    return found


def members(count: int, threads: int = 1, had: dict[str, Target] | None = None) -> list[Candidate]:
    names = [f"m{number:04}" for number in range(count)]
    return [
        Candidate(name, f"p{number // threads:04}", (had or {}).get(name, NOTHING))
        for number, name in enumerate(names)
    ]


def moved(before: dict[str, Target], after: dict[str, Target]) -> int:
    return sum(len(active(after[one]) - active(before.get(one, NOTHING))) for one in after)


def test_tasks_are_spread_over_members() -> None:
    found = assign(members(4, threads=2), parts({"0": 4, "1": 5}), 0)
    assert sorted(len(active(target)) for target in found.values()) == [2, 2, 2, 3]


def test_nothing_moves_while_nothing_changes() -> None:
    made = parts({"0": 7, "1": 5}, {"2": 3})
    first = assign(members(4), made, 1)
    assert assign(members(4, had=first), made, 1) == first


def test_who_comes_gets_its_share_and_no_more_moves() -> None:
    made = parts({"0": 12})
    first = assign(members(3), made, 0)
    after = assign(members(4, had=first), made, 0)
    assert moved(first, after) == 3
    assert [len(active(target)) for target in after.values()] == [3] * 4


def test_who_has_a_copy_takes_over() -> None:
    made = parts({"0": 4})
    first = assign(members(2), made, 1)
    gone = active(first["m0001"])
    assert standby(first["m0000"]) == gone
    after = assign(members(1, had=first), made, 1)
    assert active(after["m0000"]) == gone | active(first["m0000"])
    assert standby(after["m0000"]) == set()


def test_parts_without_state_have_no_copies() -> None:
    found = assign(members(2), parts({}, {"0": 4}), 1)
    assert not any(standby(target) for target in found.values())


@given(
    st.integers(1, 9), st.integers(1, 3), st.lists(st.integers(0, 6), max_size=4),
    st.integers(0, 2), st.integers(0, 9),
)  # fmt: skip
def test_any_assignment_is_whole_even_and_never_twice_in_a_process(
    count: int, threads: int, sizes: list[int], standbys: int, fewer: int
) -> None:
    made = parts({str(number): size for number, size in enumerate(sizes)})
    tasks = {(name, p) for name, one in made.items() for p in range(one.task_count)}
    had = assign(members(max(1, count - fewer), threads), made, standbys)
    group = members(count, threads, had)
    found = assign(group, made, standbys)
    counts = [len(active(target)) for target in found.values()]
    assert sum(counts) == len(tasks)
    assert set().union(*map(active, found.values())) == tasks
    assert max(counts) <= -(-len(tasks) // count) + (threads > 1)
    processes: dict[str, list[Task]] = {}
    for one in group:
        target = found[one.member_id]
        processes.setdefault(one.process_id, []).extend([*active(target), *standby(target)])
    for listed in processes.values():
        assert len(listed) == len(set(listed))
    copies = min(standbys, len(processes) - 1)
    assert sum(map(len, processes.values())) == len(tasks) * (1 + copies)


def test_a_thousand_members_are_assigned_without_looking_at_all_for_each_task() -> None:
    """Looking at each member for each task would be 20 million looks, and take a minute."""
    made = parts({str(number): 1_000 for number in range(10)})
    first = assign(members(1_000, threads=2), made, 1)
    after = assign(members(999, threads=2, had=first), made, 1)
    assert sum(len(active(target)) for target in after.values()) == 10_000

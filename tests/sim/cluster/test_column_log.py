from kafkapy.sim.cluster.column_log import ColumnLog
from kafkapy.sim.world.clock import SimClock


def test_each_node_has_a_column() -> None:
    lines: list[str] = []
    clock = SimClock()
    log = ColumnLog(clock, ["n1", "n2"], 9 + 3 * 20, lines.append)
    clock.advance(1234)
    log("n2", "info something happened here=1")
    log("cut", "n1 n2")
    log("n1", "disk append /data/a 17")
    log("sends", "n1 n2 44")
    assert [line.rstrip() for line in lines] == [
        "time     world               n1                  n2",
        "1.234                                            something happened",
        "                                                 here=1",
        "1.234    cut n1 n2",
    ]

"""Death at a counted change of the disk."""

import pytest

from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.journal import Trace
from kafkapy.sim.world.power import DiskOfALife, Power, PowerCut
from kafkapy.sim.world.rng import SimRng


def _disk() -> tuple[SimDisk, Power]:
    power = Power(SimRng(1), Trace(SimClock()))
    disk = SimDisk()
    disk.make_directory("/d")
    disk.on_write = power
    return disk, power


def test_the_change_after_so_many_does_not_happen() -> None:
    disk, power = _disk()
    power.cut_after(2)
    disk.write_file("/d/a", b"")
    disk.write_file("/d/b", b"")
    with pytest.raises(PowerCut):
        disk.write_file("/d/c", b"")
    assert disk.list("/d") == ["a", "b"]


def test_a_flush_is_a_change_to_die_at() -> None:
    disk, power = _disk()
    file = disk.open("/d/a", create=True)
    file.append([b"x"])
    power.cut_after(0)
    with pytest.raises(PowerCut):
        file.flush_now()


def test_who_goes_on_after_the_cut_writes_nothing() -> None:
    disk, power = _disk()
    power.cut_after(0)
    for _ in range(2):
        with pytest.raises(PowerCut):
            disk.write_file("/d/a", b"")
    power.restore()
    disk.write_file("/d/a", b"")


def test_nothing_is_cut_unasked() -> None:
    disk, power = _disk()
    power.cut_after(None)
    for number in range(100):
        disk.write_file(f"/d/{number}", b"")
    assert power.changes == 100


def test_what_is_left_of_a_life_reaches_the_disk_no_more() -> None:
    disk, _ = _disk()
    life = DiskOfALife(disk)
    life.write_file("/d/a", b"")
    life.is_over = True
    life.remove("/d/a")
    assert disk.list("/d") == ["a"]

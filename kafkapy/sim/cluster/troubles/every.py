"""All troubles by name, as plans and `--troubles` call them."""

from collections.abc import Mapping
from typing import Final

from kafkapy.sim.cluster.nemesis import Trouble
from kafkapy.sim.cluster.troubles import disks, machines, network, operations

TROUBLES: Final[Mapping[str, Trouble]] = {
    "kill": machines.kill,
    "kill-leader": machines.kill_leader,
    "kill-leaders": machines.kill_leaders,
    "kill-controller": machines.kill_controller,
    "crash": machines.crash,
    "crash-all": machines.crash_all,
    "die-at-a-change": machines.die_at_a_change,
    "crash-loop": machines.crash_loop,
    "restart": machines.restart,
    "pause": machines.pause,
    "set-clock": machines.set_clock,
    "drift": machines.drift,
    "isolate": network.isolate,
    "isolate-controller": network.isolate_controller,
    "split": network.split,
    "cut-one-way": network.cut_one_way,
    "cut-pair": network.cut_pair,
    "break": network.break_connections,
    "half-open": network.half_open,
    "slow-link": network.slow_link,
    "slow-network": network.slow_network,
    "slow-disk": disks.slow_disk,
    "fail-disk": disks.fail_disk,
    "lose-directory": disks.lose_directory,
    "empty-disk": disks.empty_disk,
    "flip-bit": disks.flip_bit,
    "reassign": operations.reassign,
    "move-leader": operations.move_leader,
    "change-configs": operations.change_configs,
    "change-voters": operations.change_voters,
}

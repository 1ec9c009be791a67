"""Small worlds in which much is to be done: long work in the smallest slices, which take time.

A job of thousands of partitions gives way between its slices (core/jobs.py), and the metadata,
requests and deaths go on meanwhile. A world has a dozen partitions and processors that cost
nothing: all would be one slice. So in some worlds a slice is hardly more than a step, and whatever
a node asks to be called for soon comes some milliseconds later, in the same order.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafkapy.core import jobs
from kafkapy.kraft.controller.partitions import sweeps
from kafkapy.sim.cluster.world import ClusterWorld

# Two roles (broker/partitions/partitions.py), or a handful of records.
_SLICE_US: Final = 40
_SLICE_OF_PARTITIONS: Final = 2


@contextmanager
def small_slices(world: ClusterWorld) -> Iterator[None]:
    """For as long as this world is turned; another one may be next, in the same process."""
    usual = jobs.SLICE_US, sweeps.SLICE
    jobs.SLICE_US, sweeps.SLICE = _SLICE_US, _SLICE_OF_PARTITIONS  # type: ignore[misc]  # Final elsewhere
    for host in world.hosts.values():
        host.clock.soon_is_later(world.rng.fork(f"{host.name}/slices"))
    try:
        yield
    finally:
        jobs.SLICE_US, sweeps.SLICE = usual  # type: ignore[misc]  # Final elsewhere

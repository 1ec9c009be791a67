"""Load, each kind a process of its own: `python -m bench.drivers.NAME JSON` prints JSON."""

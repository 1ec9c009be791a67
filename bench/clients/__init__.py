"""Load, each kind a process of its own: `python -m bench.clients.NAME JSON` prints JSON."""

"""From a data directory to a node that may use it: identity, formatting, locks.

A lone node formats an empty directory on its first start; a node of a configured cluster
does not (Kafka asks for `format` first, so that nobody joins a cluster by accident).
"""


class CannotStart(Exception):
    """What keeps the node from starting, in a sentence with what to do about it."""

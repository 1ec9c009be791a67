"""Share groups (KIP-932): partitions that many consumers read together, record by record."""

"""Share groups: who is a member, and which partitions it reads (KIP-932)."""

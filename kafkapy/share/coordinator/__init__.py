"""The share coordinator: it keeps what leaders of share partitions want remembered."""

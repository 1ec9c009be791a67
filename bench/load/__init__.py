"""Load in C: `kload.c`, and how it is called from Python."""

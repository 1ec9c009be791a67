"""kill -9 under a transactional load of real clients, judged by kafkapy/sim/checkers."""

# How the program ends where its target cannot be had.
UNAVAILABLE = 77
# How it ends where a client's library does not come back from a call that works for a fresh client.
STUCK = 76

"""kill -9 under a transactional load of real clients, judged by kafkapy/sim/checkers."""

# How the program ends where its target cannot be had.
UNAVAILABLE = 77

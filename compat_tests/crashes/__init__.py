"""kill -9 under a transactional load of real clients, judged by kafkapy/sim/checkers."""

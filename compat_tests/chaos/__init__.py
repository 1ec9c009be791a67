"""Three real nodes, real clients, every kind of trouble, judged by kafkapy/sim/checkers."""

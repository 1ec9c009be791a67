module kafkapy/compat/go_clients

go 1.24.0

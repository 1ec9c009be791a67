from kafkapy.core.addresses import shown


def test_the_colons_of_ipv6_are_told_from_the_port() -> None:
    assert shown("127.0.0.1", 9092) == "127.0.0.1:9092"
    assert shown("::1", 9092) == "[::1]:9092"

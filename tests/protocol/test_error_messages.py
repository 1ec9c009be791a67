from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.protocol.error_messages import ERROR_MESSAGES, message_of


def test_every_code_has_a_sentence() -> None:
    assert set(ERROR_MESSAGES) == set(ErrorCode)
    assert all(text for code, text in ERROR_MESSAGES.items() if code)


def test_a_refusals_own_words_come_first() -> None:
    assert message_of(Refused(ErrorCode.INVALID_CONFIG, "cleanup.policy=never")) == (
        "cleanup.policy=never"
    )
    assert message_of(Refused(ErrorCode.INVALID_CONFIG)) == "The configuration is not valid."
    assert message_of(Refused(ErrorCode.NONE)) is None

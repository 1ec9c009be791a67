from base64 import b64encode

import pytest

from kafkapy.cli.main import Failed
from kafkapy.cli.security.scram_argument import scram_record
from kafkapy.protocol import scram

SALT = b"MWx2NHBkbnc0ZndxN25vdGN4bTB5YTF1"
SALTED = scram.salted_password(scram.SHA_256, "a,secret", SALT, 8192)


def test_a_password_or_what_it_was_salted_to() -> None:
    given = f'name="alice",iterations=8192,salt="{b64encode(SALT).decode()}"'
    by_password = scram_record(f'SCRAM-SHA-256=[{given},password="a,secret"]')
    salted = b64encode(SALTED).decode()
    by_salted = scram_record(f'SCRAM-SHA-256=[{given},saltedpassword="{salted}"]')
    assert by_password == by_salted
    assert (by_password.name, by_password.mechanism, by_password.iterations) == ("alice", 1, 8192)
    expected = scram.credential_of(scram.SHA_256, SALTED, SALT, 8192)
    assert by_password.stored_key == expected.stored_key


def test_a_salt_is_drawn_for_each() -> None:
    one, other = (scram_record("SCRAM-SHA-512=[name=a,password=secret]") for _ in range(2))
    assert one.salt != other.salt
    assert one.iterations == 4096


@pytest.mark.parametrize(
    "argument",
    ["", "PLAIN=[name=a,password=secret]", "SCRAM-SHA-256=name=a,password=secret",
     "SCRAM-SHA-256=[password=secret]", "SCRAM-SHA-256=[name=a]",
     "SCRAM-SHA-256=[name=a,password=secret,iterations=1]",
     "SCRAM-SHA-256=[name=a,password=secret,iterations=99999]",
     "SCRAM-SHA-256=[name=a,saltedpassword=secret]",
     "SCRAM-SHA-256=[name=a,salt=secret,password=b]",
     "SCRAM-SHA-256=[name=a,password=b,saltedpassword=secret,salt=YQ==]",
     'SCRAM-SHA-256=[name=a,password="secret]', "SCRAM-SHA-256=[name=a,other=secret]"],
)  # fmt: skip
def test_another_argument_is_refused_without_its_secret(argument: str) -> None:
    with pytest.raises(Failed, match="--add-scram") as raised:
        scram_record(argument)
    assert "=secret" not in str(raised.value)
    assert '"secret' not in str(raised.value)

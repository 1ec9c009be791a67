"""`__transaction_state` in bytes: Apache Kafka 4.3.1's own records, and all the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.schemas.codec import encoder
from kafkapy.txn.events import PartitionsMarked, TransactionForgotten, TransactionLogged
from kafkapy.txn.records import (
    TransactionCodec,
    TransactionLogValue,
    encode_key,
    pack_value_v1,
    value_of,
)
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import Transaction
from tests.txn.samples import S, transaction

codec = TransactionCodec(lambda: 2)
codec_v0 = TransactionCodec(lambda: 0)
U0 = frozenset({TopicPartition("u", 0)})

# Written by Apache Kafka 4.3.1 for librdkafka (v1) and for a Java producer (v2).
FROM_KAFKA = {
    "v1 empty": (
        "000100000000000000000000000075300000000001a1eef26948ffffffffffffffff01000800000000000000"
        "00",
        Transaction("v1-id", 0, 0, 30_000, updated_ms=1795010226504, previous_producer_id=0),
    ),
    "v1 complete": (
        "000100000000000000000000000075300401000001a1eef26995000001a1eef2696501000800000000000000"
        "00",
        Transaction(
            "v1-id",
            0,
            0,
            30_000,
            S.COMPLETE_COMMIT,
            started_ms=1795010226533,
            updated_ms=1795010226581,
            previous_producer_id=0,
        ),
    ),
    "v2 ongoing": (
        "0001000000000000000200010000ea6001020275020000000000000001a1eef26f59000001a1eef26f590200"
        "08000000000000000202020002",
        Transaction(
            "v2-id",
            2,
            1,
            60_000,
            S.ONGOING,
            U0,
            started_ms=1795010228057,
            updated_ms=1795010228057,
            previous_producer_id=2,
            client_version=2,
        ),
    ),
    "v2 prepared": (
        "0001000000000000000200010000ea6002020275020000000000000001a1eef26f3f000001a1eef26f1e0200"
        "08000000000000000202020002",
        Transaction(
            "v2-id",
            2,
            1,
            60_000,
            S.PREPARE_COMMIT,
            U0,
            started_ms=1795010227998,
            updated_ms=1795010228031,
            previous_producer_id=2,
            client_version=2,
        ),
    ),
}


@pytest.mark.parametrize(("value", "expected"), FROM_KAFKA.values(), ids=FROM_KAFKA.keys())
def test_kafkas_bytes_are_ours(value: str, expected: Transaction) -> None:
    key = encode_key(expected.transactional_id)
    logged = TransactionLogged(expected)
    assert codec.decode(key, bytes.fromhex(value)) == logged
    assert codec.encode(logged) == (key, bytes.fromhex(value))


def test_the_key_is_a_type_and_the_id() -> None:
    assert encode_key("v2-id").hex() == "0000000576322d6964"


_int64 = st.integers(-1, 2**63 - 1)
_transactions = st.builds(
    Transaction,
    transactional_id=st.text(min_size=1, max_size=20),
    producer_id=_int64,
    producer_epoch=st.integers(-1, 2**15 - 1),
    timeout_ms=st.integers(0, 2**31 - 1),
    state=st.sampled_from([S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT]),
    partitions=st.frozensets(
        st.builds(TopicPartition, st.sampled_from(["a", "b", "long-name"]), st.integers(0, 9))
    ),
    started_ms=_int64,
    updated_ms=_int64,
    previous_producer_id=_int64,
    next_producer_id=_int64,
    client_version=st.integers(0, 2),
    last_producer_epoch=st.just(-1),
)


@given(_transactions)
def test_what_is_written_is_read(written: Transaction) -> None:
    assert codec.decode(*codec.encode(TransactionLogged(written))) == TransactionLogged(written)


@given(_transactions, st.sampled_from([S.EMPTY, S.COMPLETE_ABORT, S.ONGOING]))
def test_what_is_packed_by_hand_is_what_the_schema_says(
    written: Transaction, state: TransactionState
) -> None:
    written = written._replace(state=state)
    by_schema = b"\x00\x01" + encoder(TransactionLogValue, 1)(value_of(written))
    assert pack_value_v1(written) == by_schema


@given(_transactions)
def test_version_0_leaves_out_what_it_does_not_know(written: Transaction) -> None:
    key, value = codec_v0.encode(TransactionLogged(written))
    assert value is not None
    assert value[:2] == b"\x00\x00"
    read = codec.decode(key, value)
    assert isinstance(read, TransactionLogged)
    assert read.transaction.partitions == written.partitions
    assert (read.transaction.next_producer_id, read.transaction.client_version) == (-1, 0)


def test_the_epoch_before_is_not_written_and_a_new_leader_does_not_know_it() -> None:
    read = codec.decode(*codec.encode(TransactionLogged(transaction(last_producer_epoch=4))))
    assert read == TransactionLogged(transaction(last_producer_epoch=-1))


def test_a_forgotten_id_is_a_tombstone() -> None:
    forgotten = TransactionForgotten("gone")
    assert codec.encode(forgotten) == (encode_key("gone"), None)
    assert codec.decode(encode_key("gone"), None) == forgotten


def test_types_of_the_future_are_skipped() -> None:
    assert codec.decode(b"\x00\x01whatever", b"\x00\x00") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\x00", b""),
        (b"\x00\x00\x00\x09short", None),
        (encode_key("a"), b""),
        (encode_key("a"), b"\x00\x02"),
        (encode_key("a"), b"\xff\xff"),
        (encode_key("a"), b"\x00\x01\x00"),
    ],
)
def test_wrong_bytes_are_corrupt(key: bytes, value: bytes | None) -> None:
    with pytest.raises(Corrupt):
        codec.decode(key, value)


@pytest.mark.parametrize("status", [6, 7, 8, -1])
def test_states_that_are_never_written_are_corrupt(status: int) -> None:
    key, value = codec.encode(TransactionLogged(transaction(S.ONGOING)))
    assert value is not None
    with pytest.raises(Corrupt):
        codec.decode(key, value[:16] + status.to_bytes(1, signed=True) + value[17:])


def test_soft_facts_and_states_of_memory_have_no_bytes() -> None:
    with pytest.raises(AssertionError):
        codec.encode(PartitionsMarked("a", frozenset()))
    with pytest.raises(AssertionError):
        codec.encode(TransactionLogged(transaction(TransactionState.DEAD)))

"""The transaction coordinator and its topic."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, int16, int32
from kafkapy.broker.config.table.shared_values import CLUSTER_WIDE, HIGH, LOW, OWN_BUFFERS
from kafkapy.broker.config.table.validators import at_least


class TransactionKeys(Section):
    transaction_max_timeout_ms = int32(
        900000,
        "Longest timeout that a producer may ask for its transactions.",
        valid=at_least(1),
        importance=HIGH,
    )
    transactional_id_expiration_ms = int32(
        604800000,
        "How long a transactional id without transactions is remembered.",
        valid=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_num_partitions = int32(
        50,
        "Partitions of the transaction topic; not to be changed later.",
        valid=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_replication_factor = int16(
        3,
        "Replicas of the transaction topic.",
        valid=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_min_isr = int32(
        2,
        "The min.insync.replicas of the transaction topic.",
        valid=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_segment_bytes = int32(
        104857600,
        "Segment size of the transaction topic.",
        valid=at_least(1),
        importance=HIGH,
    )
    transaction_state_log_load_buffer_size = int32(
        5242880,
        "Bytes of the transaction topic that are read at once when a coordinator loads.",
        valid=at_least(1),
        importance=HIGH,
        ignored=OWN_BUFFERS,
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms = int32(
        10000,
        "How often transactions that ran out of time are aborted.",
        valid=at_least(1),
        importance=LOW,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms = int32(
        3600000,
        "How often expired transactional ids are removed.",
        valid=at_least(1),
        importance=LOW,
    )
    transaction_partition_verification_enable = boolean(
        True,
        "Whether a partition asks the coordinator if a transaction that writes to it is under way.",
        dynamic=CLUSTER_WIDE,
        importance=LOW,
    )
    transaction_two_phase_commit_enable = boolean(
        False,
        "Whether producers may keep transactions prepared without a timeout (KIP-939).",
        importance=LOW,
    )
    add_partitions_to_txn_retry_backoff_ms = int32(
        20,
        "How long the broker waits before it asks again whether a partition is part of a "
        "transaction.",
        valid=at_least(1),
        importance=HIGH,
    )
    add_partitions_to_txn_retry_backoff_max_ms = int32(
        100,
        "How long the broker goes on asking whether a partition is part of a transaction.",
        valid=at_least(0),
        importance=HIGH,
    )

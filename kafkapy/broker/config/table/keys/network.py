"""Listeners, sockets and connections."""

from kafkapy.broker.config.table.key import REQUIRED, Section
from kafkapy.broker.config.table.make import int32, int64, string, strings
from kafkapy.broker.config.table.shared_values import (
    CLUSTER_WIDE,
    HIGH,
    LISTENS_AT_ONCE,
    LOW,
    MAX_INT,
    NO_THREADS,
    ONE_TIMEOUT,
    PER_BROKER,
    SYSTEM_BUFFERS,
)
from kafkapy.broker.config.table.validators import ListOf, OneOf, at_least


class NetworkKeys(Section):
    listeners = strings(
        ("PLAINTEXT://:9092",),
        "Where the node listens: a list of <listener name>://<host>:<port>; an empty host"
        " means every interface. They are opened when the node starts.",
        valid=ListOf(),
        dynamic=PER_BROKER,
        importance=HIGH,
    )
    advertised_listeners = strings(
        None,
        "What clients and other nodes are told to connect to, where it differs from listeners.",
        valid=ListOf(may_be_null=True),
        importance=HIGH,
    )
    listener_security_protocol_map = string(
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "Which security protocol each listener name speaks, as <listener name>:<protocol>.",
        dynamic=PER_BROKER,
        importance=LOW,
    )
    inter_broker_listener_name = string(
        None,
        "Listener that brokers use among themselves; if unset, the one that speaks "
        "security.inter.broker.protocol.",
    )
    security_inter_broker_protocol = string(
        "PLAINTEXT",
        "Security protocol that brokers use among themselves.",
        valid=OneOf("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    )
    controller_listener_names = strings(
        REQUIRED,
        "Listeners of the controller role; brokers reach the quorum through the first of them.",
        valid=ListOf(),
        importance=HIGH,
    )
    early_start_listeners = strings(
        None,
        "Listeners that open before start-up is complete; the controller's listeners if unset.",
        importance=HIGH,
        ignored=LISTENS_AT_ONCE,
    )
    socket_send_buffer_bytes = int32(
        102400,
        "SO_SNDBUF of accepted sockets; -1 leaves it to the operating system.",
        importance=HIGH,
        ignored=SYSTEM_BUFFERS,
    )
    socket_receive_buffer_bytes = int32(
        102400,
        "SO_RCVBUF of accepted sockets; -1 leaves it to the operating system.",
        importance=HIGH,
        ignored=SYSTEM_BUFFERS,
    )
    socket_request_max_bytes = int32(
        104857600,
        "Largest request that is read; a larger one closes the connection.",
        valid=at_least(1),
        importance=HIGH,
    )
    socket_listen_backlog_size = int32(
        50,
        "Connections that may wait to be accepted, if the operating system allows as many.",
        valid=at_least(1),
    )
    socket_connection_setup_timeout_ms = int64(
        10000,
        "How long a connection to another node may take to be set up, at first.",
    )
    socket_connection_setup_timeout_max_ms = int64(
        30000,
        "How far the connection set-up timeout grows after repeated failures.",
        ignored=ONE_TIMEOUT,
    )
    max_connections = int32(
        MAX_INT,
        "Connections that the broker accepts over all; a listener prefix bounds one listener.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    max_connections_per_ip = int32(
        MAX_INT,
        "Connections that one address may hold.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    max_connections_per_ip_overrides = string(
        "",
        "Exceptions to max.connections.per.ip as <host or address>:<count>.",
        dynamic=CLUSTER_WIDE,
    )
    max_connection_creation_rate = int32(
        MAX_INT,
        "New connections that the broker accepts in a second; a listener prefix bounds "
        "one listener.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    connections_max_idle_ms = int64(
        600000,
        "How long a connection may be silent before it is closed.",
    )
    connection_failed_authentication_delay_ms = int32(
        100,
        "How long a connection that failed to authenticate is kept before it is closed.",
        valid=at_least(0),
        importance=LOW,
    )
    queued_max_requests = int32(
        500,
        "Requests that wait for a request handler before the network threads stop reading.",
        valid=at_least(1),
        importance=HIGH,
        ignored=NO_THREADS,
    )
    queued_max_request_bytes = int64(
        -1,
        "Bytes of requests that may wait before no more are read.",
        ignored=NO_THREADS,
    )
    request_timeout_ms = int32(
        30000,
        "How long a request to another node may take.",
        importance=HIGH,
    )
    num_network_threads = int32(
        3,
        "Threads that read requests and write responses.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
        ignored=NO_THREADS,
    )
    num_io_threads = int32(
        8,
        "Threads that work on requests, disk included.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
        ignored=NO_THREADS,
    )
    background_threads = int32(
        10,
        "Threads for jobs in the background.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
        ignored=NO_THREADS,
    )

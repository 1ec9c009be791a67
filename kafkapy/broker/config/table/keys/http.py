"""HTTP beside Kafka's protocol (kafkapy/http). Apache Kafka has no such keys."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import float64, int32, int64, string, strings
from kafkapy.broker.config.table.validators import ListOf, at_least, between


class HttpKeys(Section):
    http_listeners = strings(
        (),
        "Where the node speaks HTTP: a list of http://<host>:<port> and https://<host>:<port>;"
        " nowhere if empty.",
        valid=ListOf(may_be_empty=True),
    )
    http_security_listener = string(
        None,
        "Listener whose users and tokens HTTP takes; if unset, the first of the broker's that has"
        " SASL.",
    )
    http_max_connections = int32(
        256,
        "Connections over HTTP that are busy at a time, other than with questions for health; what"
        " is asked beyond that is answered 503. Those that are idle give way to new ones.",
        valid=at_least(1),
    )
    http_max_streams = int32(
        256,
        "Answers over HTTP at a time that last until somebody hangs up, on at most seven eighths of"
        " http.max.connections (several may share one); who comes later is answered 503.",
        valid=at_least(0),
    )
    http_max_request_bytes = int32(
        16777216, "Largest body of an HTTP request that is read.", valid=at_least(1)
    )
    http_max_header_bytes = int32(
        16384, "Largest head of an HTTP request that is read.", valid=at_least(1024)
    )
    http_request_timeout_ms = int32(
        30000,
        "Time within which an HTTP request has to be read and its answer has to begin.",
        valid=at_least(1),
    )
    http_idle_timeout_ms = int32(
        60000,
        "An HTTP connection without a request, or whose client reads nothing, is closed after"
        " this time.",
        valid=at_least(1),
    )
    http_cors_allowed_origins = strings(
        (),
        "Origins whose pages may use this node's HTTP from a browser; none but its own if empty.",
        valid=ListOf(may_be_empty=True),
    )
    http_metrics_max_partitions = int32(
        1000,
        "How many partitions, and how many partitions of groups, have metrics of their own;"
        " of the others there are sums.",
        valid=at_least(0),
    )
    http_lag_interval_ms = int32(
        5000, "How often it is looked how far groups are behind.", valid=at_least(100)
    )
    http_alerts_file = string(
        None, "TOML file of alerts' rules, and a webhook; those that every node has if unset."
    )
    http_alerts_interval_ms = int32(
        15000, "How often alerts' rules are looked at.", valid=at_least(100)
    )
    http_tracing_endpoint = string(
        None, "Where spans of Produce and Fetch go, by OTLP over HTTP; nowhere if unset."
    )
    http_tracing_ratio = float64(
        0.01, "Which part of Produce and Fetch requests is traced, by chance.", valid=between(0, 1)
    )
    http_idempotency_retention_ms = int64(
        86_400_000,
        "For how long a repeated request over HTTP with the same Idempotency-Key is recognised; no"
        " longer than producer.id.expiration.ms if it had not been answered.",
        valid=at_least(60_000),
    )
    http_idempotency_max_keys = int32(
        100_000,
        "How many Idempotency-Keys are recognised; of more, the newest.",
        valid=at_least(8),
    )
    http_allowed_hosts = strings(
        (),
        "Names by which HTTP may be asked besides addresses, localhost, this machine's own and"
        " what is advertised; * is any.",
        valid=ListOf(may_be_empty=True),
    )

"""HTTP beside Kafka's protocol (kafkapy/http). Apache Kafka has no such keys."""

from kafkapy.broker.config.key import Section
from kafkapy.broker.config.make import int32, string, strings
from kafkapy.broker.config.validators import ListOf, at_least


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
        256, "Connections over HTTP at a time; who comes later is sent away.", valid=at_least(1)
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
    http_allowed_hosts = strings(
        (),
        "Names by which HTTP may be asked besides addresses, localhost and this machine's own;"
        " * is any.",
        valid=ListOf(may_be_empty=True),
    )

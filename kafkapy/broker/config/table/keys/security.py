"""Principals, the authorizer, delegation tokens."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import int64, java_class, password, string
from kafkapy.broker.config.table.shared_values import LOW, NO_JAVA, PER_BROKER
from kafkapy.broker.config.table.validators import at_least


class SecurityKeys(Section):
    authorizer_class_name = string(
        "",
        "The authorizer; Kafka's StandardAuthorizer is known by its name, empty means none.",
        importance=LOW,
    )
    principal_builder_class = java_class(
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        "Class that makes a principal of a connection.",
        dynamic=PER_BROKER,
    )
    security_providers = string(
        None,
        "Classes that create security providers.",
        importance=LOW,
        ignored=NO_JAVA,
    )
    connections_max_reauth_ms = int64(
        0,
        "How long a SASL session lasts before the client must authenticate anew; 0 for ever.",
    )
    delegation_token_secret_key = password(
        "Secret that delegation tokens are signed with, the same on all nodes; unset "
        "switches tokens off.",
    )
    delegation_token_max_lifetime_ms = int64(
        604800000,
        "How long a delegation token can be renewed.",
        valid=at_least(1),
    )
    delegation_token_expiry_time_ms = int64(
        86400000,
        "How long a delegation token is good without being renewed.",
        valid=at_least(1),
    )
    delegation_token_expiry_check_interval_ms = int64(
        3600000,
        "How often expired delegation tokens are removed.",
        valid=at_least(1),
        importance=LOW,
    )

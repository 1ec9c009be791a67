"""SASL: mechanisms and their logins."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import (
    boolean,
    float64,
    int16,
    int32,
    int64,
    java_class,
    password,
    string,
    strings,
)
from kafkapy.broker.config.table.shared_values import (
    HIGH,
    LOW,
    NO_ASSERTIONS,
    NO_JAVA,
    NO_KERBEROS,
    PER_BROKER,
)
from kafkapy.broker.config.table.validators import OneOf, between


class SaslKeys(Section):
    sasl_enabled_mechanisms = strings(
        ("GSSAPI",),
        "SASL mechanisms that are served.",
        dynamic=PER_BROKER,
    )
    sasl_jaas_config = password(
        "Login of a mechanism in JAAS form, with the listener and mechanism as prefix.",
        dynamic=PER_BROKER,
    )
    sasl_mechanism_inter_broker_protocol = string(
        "GSSAPI",
        "SASL mechanism that brokers use among themselves.",
        dynamic=PER_BROKER,
    )
    sasl_mechanism_controller_protocol = string(
        "GSSAPI",
        "SASL mechanism that nodes use towards controllers.",
        importance=HIGH,
    )
    sasl_server_max_receive_size = int32(
        524288,
        "Largest message of a SASL exchange.",
    )
    sasl_server_callback_handler_class = java_class(
        None,
        "Who judges tokens of OAUTHBEARER, by the name of Kafka's class; kafkapy loads none.",
    )
    sasl_client_callback_handler_class = java_class(
        None,
        "Class that answers SASL callbacks at the client.",
        ignored=NO_JAVA,
    )
    sasl_login_callback_handler_class = java_class(
        None,
        "Where a node's own token of OAUTHBEARER comes from, by the name of Kafka's class; kafkapy"
        " loads none.",
    )
    sasl_login_class = java_class(
        None,
        "Class that logs in.",
        ignored=NO_JAVA,
    )
    sasl_login_connect_timeout_ms = int32(
        None,
        "How long a connection to the authentication provider may take.",
        importance=LOW,
    )
    sasl_login_read_timeout_ms = int32(
        None,
        "How long a read from the authentication provider may take.",
        importance=LOW,
    )
    sasl_login_retry_backoff_ms = int64(
        100,
        "How long a failed login waits at first.",
        importance=LOW,
    )
    sasl_login_retry_backoff_max_ms = int64(
        10000,
        "How long a failed login waits at most.",
        importance=LOW,
    )
    sasl_login_refresh_window_factor = float64(
        0.8,
        "Share of a credential's life after which it is refreshed.",
        dynamic=PER_BROKER,
    )
    sasl_login_refresh_window_jitter = float64(
        0.05,
        "Share of a credential's life that is added at random.",
        dynamic=PER_BROKER,
    )
    sasl_login_refresh_min_period_seconds = int16(
        60,
        "Least time between two refreshes of a credential.",
        dynamic=PER_BROKER,
    )
    sasl_login_refresh_buffer_seconds = int16(
        300,
        "Time before its end by which a credential is refreshed.",
        dynamic=PER_BROKER,
    )
    sasl_kerberos_service_name = string(
        None,
        "Name of the service that the Kafka servers run under.",
        dynamic=PER_BROKER,
        ignored=NO_KERBEROS,
    )
    sasl_kerberos_kinit_cmd = string(
        "/usr/bin/kinit",
        "Path of the kinit command.",
        dynamic=PER_BROKER,
        ignored=NO_KERBEROS,
    )
    sasl_kerberos_min_time_before_relogin = int64(
        60000,
        "Least time between two logins.",
        dynamic=PER_BROKER,
        ignored=NO_KERBEROS,
    )
    sasl_kerberos_principal_to_local_rules = strings(
        ("DEFAULT",),
        "Rules that make short names of principals.",
        dynamic=PER_BROKER,
        ignored=NO_KERBEROS,
    )
    sasl_kerberos_ticket_renew_jitter = float64(
        0.05,
        "Share of the renewal time that is random.",
        dynamic=PER_BROKER,
        ignored=NO_KERBEROS,
    )
    sasl_kerberos_ticket_renew_window_factor = float64(
        0.8,
        "Share of a ticket's life after which it is renewed.",
        dynamic=PER_BROKER,
        ignored=NO_KERBEROS,
    )
    sasl_oauthbearer_assertion_algorithm = string(
        "RS256",
        "Algorithm that assertions are signed with.",
        valid=OneOf("ES256", "RS256", any_case=True),
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_claim_aud = string(
        None,
        "Audience that assertions name.",
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_claim_exp_seconds = int32(
        300,
        "How long assertions are good.",
        valid=between(0, 86400),
        importance=LOW,
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_claim_iss = string(
        None,
        "Issuer that assertions name.",
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_claim_jti_include = boolean(
        False,
        "Whether assertions carry an id of their own.",
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_claim_nbf_seconds = int32(
        60,
        "How long before now assertions become good.",
        valid=between(0, 3600),
        importance=LOW,
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_claim_sub = string(
        None,
        "Subject that assertions name.",
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_file = string(
        None,
        "File with a ready assertion.",
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_private_key_file = string(
        None,
        "File with the key that signs assertions.",
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_private_key_passphrase = password(
        "Passphrase of that key.",
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_assertion_template_file = string(
        None,
        "File with headers and claims that every assertion has.",
        ignored=NO_ASSERTIONS,
    )
    sasl_oauthbearer_client_credentials_client_id = string(
        None,
        "Client id of the client credentials grant.",
    )
    sasl_oauthbearer_client_credentials_client_secret = password(
        "Client secret of the client credentials grant.",
    )
    sasl_oauthbearer_clock_skew_seconds = int32(
        30,
        "How far clocks may be apart.",
        importance=LOW,
    )
    sasl_oauthbearer_expected_audience = strings(
        (),
        "Audiences one of which a token must name.",
        importance=HIGH,
    )
    sasl_oauthbearer_expected_issuer = string(
        None,
        "Issuer that a token must name.",
        importance=HIGH,
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms = int64(
        3600000,
        "How often the provider's keys are read anew.",
        importance=LOW,
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms = int64(
        100,
        "How long a failed read of the keys waits at first.",
        importance=LOW,
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms = int64(
        10000,
        "How long a failed read of the keys waits at most.",
        importance=LOW,
    )
    sasl_oauthbearer_jwks_endpoint_url = string(
        None,
        "Where the provider's keys are.",
    )
    sasl_oauthbearer_jwt_retriever_class = java_class(
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        "Class that fetches tokens.",
    )
    sasl_oauthbearer_jwt_validator_class = java_class(
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        "Class that checks tokens.",
    )
    sasl_oauthbearer_scope = string(
        None,
        "Scope that a token is asked for.",
    )
    sasl_oauthbearer_scope_claim_name = string(
        "scope",
        "Claim that holds a token's scope.",
        importance=LOW,
    )
    sasl_oauthbearer_sub_claim_name = string(
        "sub",
        "Claim that holds a token's subject.",
        importance=LOW,
    )
    sasl_oauthbearer_token_endpoint_url = string(
        None,
        "Where tokens are issued.",
    )

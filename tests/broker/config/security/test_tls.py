"""What a listener with TLS may be told, as far as the settings alone tell."""

import pytest

from kafkapy.broker.config.altering.describe import describe_broker
from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.security.tls import tls_settings
from kafkapy.broker.config.table.values import ConfigError

GIVEN = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": "SSL://:9092,CONTROLLER://:9093",
    "listener.security.protocol.map": "SSL:SSL,CONTROLLER:PLAINTEXT",
    "security.inter.broker.protocol": "SSL",
    "ssl.keystore.location": "/a.pem",
}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required "


def configured(**more: str) -> BrokerConfig:
    return BrokerConfig({**GIVEN, **{name.replace("_", "."): text for name, text in more.items()}})


def test_the_defaults_are_kafkas() -> None:
    found = tls_settings(configured(), "SSL")
    assert (found.client_auth, found.versions, found.ciphers, found.checks_host) == (
        "none",
        ("TLSv1.2", "TLSv1.3"),
        "",
        True,
    )


def test_a_listeners_own_settings_win() -> None:
    config = configured(
        ssl_enabled_protocols="TLSv1.3",
        listener_name_ssl_ssl_enabled_protocols="TLSv1.2",
        listener_name_ssl_ssl_keystore_location="/own.pem",
        listener_name_ssl_ssl_endpoint_identification_algorithm="",
    )
    found = tls_settings(config, "SSL")
    assert found.versions == ("TLSv1.2",)
    assert found.keys.location == "/own.pem"
    assert not found.checks_host


@pytest.mark.parametrize(
    ("suites", "versions", "ciphers"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", ("TLSv1.2",), "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA,TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", ("TLSv1.2",),
         "AES256-SHA:DHE-RSA-CHACHA20-POLY1305"),
        ("TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256",
         ("TLSv1.3",), ""),
    ],
)  # fmt: skip
def test_cipher_suites_by_their_standard_names(
    suites: str, versions: tuple[str, ...], ciphers: str
) -> None:
    found = tls_settings(configured(ssl_cipher_suites=suites), "SSL")
    assert (found.versions, found.ciphers) == (versions, ciphers)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"ssl_keystore_location": ""}, "needs a certificate"),
        ({"ssl_client_auth": "required"}, "which authorities are trusted"),
        ({"ssl_client_auth": "requested"}, "which authorities are trusted"),
        ({"ssl_enabled_protocols": "TLSv1.1,TLSv1.2"}, "speaks TLSv1.2 and TLSv1.3"),
        ({"ssl_enabled_protocols": ""}, "speaks TLSv1.2 and TLSv1.3"),
        ({"ssl_cipher_suites": "TLS_AES_128_GCM_SHA256"}, "name all suites"),
        ({"ssl_cipher_suites": "AES128-SHA"}, "TLS_<exchange>_WITH_<cipher>"),
        ({"ssl_keystore_type": "BCFKS"}, "reads PEM, PKCS12"),
        ({"ssl_principal_mapping_rules": "RULE:a"}, "a rule is DEFAULT or"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        configured(**settings)


def test_behind_sasl_only_a_listeners_own_setting_asks_for_certificates() -> None:
    """KIP-684: clients are known by their login there."""
    own = {
        "listeners": "SASL_SSL://:9092,CONTROLLER://:9093",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
        "security.inter.broker.protocol": "SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} username="a" password="b" '
        'user_a="b";',
        "ssl.truststore.location": "/ca.pem",
        "ssl.client.auth": "required",
    }
    config = BrokerConfig({**GIVEN, **own})
    assert tls_settings(config, "SASL_SSL").client_auth == "none"
    config = BrokerConfig({**GIVEN, **own, "listener.name.sasl_ssl.ssl.client.auth": "required"})
    assert tls_settings(config, "SASL_SSL").client_auth == "required"


def test_no_secret_is_described() -> None:
    secrets = {
        "ssl.keystore.password": "secret-1",
        "listener.name.ssl.ssl.keystore.key": "secret-2",
        "listener.name.ssl.ssl.key.password": "secret-3",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": "secret-4",
        "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": "secret-5",
        "sasl.jaas.config": "secret-6",
    }
    config = BrokerConfig({**GIVEN, **secrets})
    told = repr(describe_broker(config)) + repr(tls_settings(config, "SSL"))
    assert "secret-" not in told
    for name in secrets:
        assert name in told

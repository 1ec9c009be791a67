"""TLS: certificates, what is trusted, which versions."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, java_class, password, string, strings
from kafkapy.broker.config.table.shared_values import (
    LOW,
    NO_JAVA,
    OPENSSLS_OWN,
    PER_BROKER,
)
from kafkapy.broker.config.table.validators import OneOf


class TlsKeys(Section):
    ssl_client_auth = string(
        "none",
        "Whether clients must, may or need not show a certificate.",
        valid=OneOf("required", "requested", "none"),
        dynamic=PER_BROKER,
    )
    ssl_keystore_location = string(
        None,
        "File with the node's certificate and key.",
        dynamic=PER_BROKER,
    )
    ssl_keystore_type = string(
        "JKS",
        "Format of the key store; PEM, PKCS12 or JKS; what a file is, it tells itself.",
        dynamic=PER_BROKER,
    )
    ssl_keystore_password = password(
        "Password of the key store.",
        dynamic=PER_BROKER,
    )
    ssl_keystore_key = password(
        "Private key in PEM, instead of a file.",
        dynamic=PER_BROKER,
    )
    ssl_keystore_certificate_chain = password(
        "Certificates in PEM, instead of a file.",
        dynamic=PER_BROKER,
    )
    ssl_key_password = password(
        "Password of the private key.",
        dynamic=PER_BROKER,
    )
    ssl_truststore_location = string(
        None,
        "File with the certificates that are trusted.",
        dynamic=PER_BROKER,
    )
    ssl_truststore_type = string(
        "JKS",
        "Format of the trust store; PEM, PKCS12 or JKS; what a file is, it tells itself.",
        dynamic=PER_BROKER,
    )
    ssl_truststore_password = password(
        "Password of the trust store.",
        dynamic=PER_BROKER,
    )
    ssl_truststore_certificates = password(
        "Trusted certificates in PEM, instead of a file.",
        dynamic=PER_BROKER,
    )
    ssl_protocol = string(
        "TLSv1.3",
        "Newest TLS version that is offered.",
        dynamic=PER_BROKER,
        ignored=OPENSSLS_OWN,
    )
    ssl_enabled_protocols = strings(
        ("TLSv1.2", "TLSv1.3"),
        "TLS versions that are accepted.",
        dynamic=PER_BROKER,
    )
    ssl_cipher_suites = strings(
        (),
        "Cipher suites that are accepted; empty means those that the library prefers.",
        dynamic=PER_BROKER,
    )
    ssl_endpoint_identification_algorithm = string(
        "https",
        "How a server's name is checked against its certificate; empty switches it off.",
        dynamic=PER_BROKER,
        importance=LOW,
    )
    ssl_principal_mapping_rules = string(
        "DEFAULT",
        "Rules that make a principal of a certificate's name.",
        importance=LOW,
    )
    ssl_provider = string(
        None,
        "Security provider of TLS.",
        dynamic=PER_BROKER,
        ignored=OPENSSLS_OWN,
    )
    ssl_engine_factory_class = java_class(
        None,
        "Class that makes TLS engines.",
        dynamic=PER_BROKER,
        importance=LOW,
        ignored=NO_JAVA,
    )
    ssl_keymanager_algorithm = string(
        "SunX509",
        "Algorithm of the key manager.",
        dynamic=PER_BROKER,
        ignored=OPENSSLS_OWN,
    )
    ssl_trustmanager_algorithm = string(
        "PKIX",
        "Algorithm of the trust manager.",
        dynamic=PER_BROKER,
        ignored=OPENSSLS_OWN,
    )
    ssl_secure_random_implementation = string(
        None,
        "Source of randomness for TLS.",
        dynamic=PER_BROKER,
        importance=LOW,
        ignored=OPENSSLS_OWN,
    )
    ssl_allow_dn_changes = boolean(
        False,
        "Whether a reloaded certificate may name another subject.",
        importance=LOW,
    )
    ssl_allow_san_changes = boolean(
        False,
        "Whether a reloaded certificate may name other hosts.",
        importance=LOW,
    )

"""When this node's certificates end. Nothing of TLS is imported where nobody speaks it."""

import re
from typing import Final

from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.security.certificate_names import valid_until
from kafkapy.core.errors import Corrupt
from kafkapy.http.entrance.security import LISTENER
from kafkapy.http.site import Site

_CERTIFICATE: Final = re.compile(
    "-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL
)


def certificates(site: Site) -> dict[str, float]:
    """Listener -> when the first certificate of its chain ends, in seconds since 1970. What cannot
    be read is said elsewhere, when it is used."""
    config = site.config
    names = [one.name for one in config.listening.all if one.protocol.has_tls]
    if any(one.startswith("https:") for one in config.http_listeners):
        names.append(LISTENER)
    if not names:
        return {}
    import ssl

    from kafkapy.broker.config.security.tls import tls_settings
    from kafkapy.server.tls.stores import read_store

    found = {}
    for name in names:
        try:
            pem = read_store(tls_settings(config, name).keys).certificates
            ends = [valid_until(ssl.PEM_cert_to_DER_cert(one)) for one in _CERTIFICATE.findall(pem)]
        except (ConfigError, Corrupt, ValueError):
            continue
        if ends:
            found[name] = min(ends)
    return found

"""One POST to somebody else's server: a webhook, a collector of spans. It blocks: for a thread."""

from typing import Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

SECONDS: Final = 10.0
SCHEMES: Final = ("http://", "https://")


def post(url: str, data: bytes, content_type: str) -> None:
    """OSError (URLError is one) unless it is answered with success, in time."""
    assert url.startswith(SCHEMES), "settings are checked when they are read"
    headers = {"content-type": content_type, "user-agent": "kafkapy"}
    request = Request(url, data, headers, method="POST")
    try:
        with urlopen(request, timeout=SECONDS) as answer:  # nosec B310 - the scheme is asserted
            answer.read(1)
    except HTTPError as refused:
        refused.close()  # the answer is in it
        raise OSError(f"it answered {refused.code}") from None

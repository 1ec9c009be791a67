"""Whose page it is that makes a browser ask: one of this node's own, or somebody else's.

A browser sends the user's login with whatever any page makes it ask for, and says who made it:

    Origin             with what a script sends, with forms, with WebSockets; not with a link,
                       an image, or a script's GET that wants no answer
    Sec-Fetch-Site     with everything, but only to https and to localhost
    Referer            with most, unless the page does not want it to

Who is no browser says none of these, and is not meant: it has a login of its own to send.
"""

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from kafkapy.http.problems import Problem

_OWN: Final = "same-origin"
_ELSEWHERE: Final = frozenset({"cross-site", "same-site"})
# What every browser is called, and some that are none; those do not say what people can read.
_BROWSER: Final = "mozilla/"
_LANGUAGES: Final = "accept-language"


def is_foreign(headers: Headers, allowed: Collection[str]) -> bool:
    """The browser says that it is somebody else's page. `allowed`: origins that may ask, too."""
    origin = headers.get("origin")
    if origin is not None:
        return origin not in allowed and not _is_same(origin, headers)
    return headers.get("sec-fetch-site") in _ELSEWHERE


def require_own_page(headers: Headers, allowed: Collection[str]) -> None:
    """For a GET that changes something. Problem unless the browser, if it is one, says that one of
    our pages asks: an address that somebody was given to open (`none`) is no page of ours."""
    if is_foreign(headers, allowed):
        raise _refusal()
    if headers.get("origin") is not None:
        return
    site = headers.get("sec-fetch-site")
    if site is None and _is_browser(headers):
        # Over http it does not say, and a page of others' cannot say that it is ours.
        site = _OWN if _is_same(headers.get("referer", ""), headers) else None
    elif site is None:
        return
    if site != _OWN:
        raise _refusal()


def _is_browser(headers: Headers) -> bool:
    is_called_so = headers.get("user-agent", "").lower().startswith(_BROWSER)
    return is_called_so and _LANGUAGES in headers


def _is_same(url: str, headers: Headers) -> bool:
    try:
        return urlsplit(url).netloc.lower() == headers.get("host", "").lower()
    except ValueError:
        return False


def _refusal() -> Problem:
    return Problem(403, "a browser may ask this for a page of this node's own alone")

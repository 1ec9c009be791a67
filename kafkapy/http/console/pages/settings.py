"""Settings of topics, brokers and groups: all of them, one with who says what, and changed."""

from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.responses import Response

from kafkapy.broker.config.altering.scope import is_per_broker
from kafkapy.broker.config.resources import Resource
from kafkapy.http.console.asked import Asked, Lacking, Pages
from kafkapy.http.console.pages.topic import require_describe
from kafkapy.http.console.settings import Place, Setting, change, setting_of, settings_of
from kafkapy.http.problems import Problem
from kafkapy.kraft.acls import CLUSTER_NAME

_THIS, _ALL = "broker", "all"
_WORDS: Final = {Resource.TOPIC: "topics", Resource.BROKER: "brokers", Resource.GROUP: "groups"}


def address(place: Place, key: str = "") -> str:
    """Of the page of all, or of one."""
    if place.kind is Resource.GROUP:
        told = {"name": place.name, **({"key": key} if key else {})}
        return ("/console/group/setting?" if key else "/console/group/settings?") + urlencode(told)
    path = f"/console/{_WORDS[place.kind]}/{quote(place.name, safe='')}"
    if place.kind is Resource.BROKER and not key:
        return f"{path}#settings"
    return f"{path}/settings" + (f"/{quote(key, safe='')}" if key else "")


def rows_of(place: Place, found: list[Setting], *, shows_all: bool) -> list[tuple[Setting, str]]:
    """With the address of each."""
    return [(one, address(place, one.name)) for one in found if shows_all or one.is_set]


# --- whose ---


async def _topic(asked: Asked) -> Place:
    name = asked.path("topic")
    await require_describe(asked, name)
    return Place(Resource.TOPIC, name)


async def broker_of(asked: Asked) -> Place:
    said = asked.path("broker")
    if not await asked.site.may_describe_cluster(asked.request):
        raise Lacking("DESCRIBE", "CLUSTER", CLUSTER_NAME)
    known = asked.kafka.image.brokers.get(int(said)) if said.isdecimal() else None
    if known is None:
        raise Problem(404, f"there is no broker {said}")
    if known.id not in asked.kafka.brokers():
        raise Problem(
            409, f"broker {said} is not up: only it knows its directories and its settings"
        )
    return Place(Resource.BROKER, str(known.id), known.id)


async def _group(asked: Asked) -> Place:
    name = asked.query("name")
    if not name:
        raise Problem(404, "which group? …/console/group/settings?name=")
    return Place(Resource.GROUP, name)


# --- what ---


async def _list(asked: Asked, place: Place) -> Response:
    found = await settings_of(asked, place)
    shows_all = asked.query("all") == "1"
    return asked.page(
        "settings.html",
        place=place,
        word=_WORDS[place.kind],
        rows=rows_of(place, found, shows_all=shows_all),
        count=len(found),
        shows_all=shows_all,
        fewer=asked.link(all=None),
        all=asked.link(all=1),
    )


async def _one(asked: Asked, place: Place, key: str) -> Response:
    setting = await setting_of(asked, place, key)
    if setting is None:
        raise Problem(404, f"{_WORDS[place.kind]} have no setting {key}")
    scopes = []
    if place.kind is Resource.BROKER:
        scopes = [(_THIS, f"broker {place.name} only")]
        if not is_per_broker(key):
            scopes.append((_ALL, "all brokers"))
    own = setting.of(place.own)
    for_all = setting.of(_for_all(place).own) if len(scopes) > 1 else None
    return asked.page(
        "setting.html",
        place=place,
        word=_WORDS[place.kind],
        setting=setting,
        scopes=scopes,
        is_own=own is not None and own.name == key,
        is_for_all=for_all is not None,
        back=address(place),
    )


async def _set(asked: Asked, place: Place, key: str) -> Response:
    fields = await asked.fields()
    where = _for_all(place) if fields.get("scope") == _ALL else place
    value: str | None = fields.get("value", "").strip()
    if "default" in fields:
        value, where = None, _for_all(place) if fields["default"] == _ALL else place
    await change(asked, where, key, value)
    link = address(place)
    path, hash_, place_in_it = link.partition("#")
    return asked.go(path + ("&" if "?" in path else "?") + "done=set" + hash_ + place_in_it)


def _for_all(place: Place) -> Place:
    return place._replace(name="") if place.kind is Resource.BROKER else place


async def topics(asked: Asked) -> Any:
    return await _list(asked, await _topic(asked))


async def topics_one(asked: Asked) -> Any:
    return await _one(asked, await _topic(asked), asked.path("key"))


async def set_topics(asked: Asked) -> Any:
    return await _set(asked, Place(Resource.TOPIC, asked.path("topic")), asked.path("key"))


async def brokers_one(asked: Asked) -> Any:
    return await _one(asked, await broker_of(asked), asked.path("key"))


async def set_brokers(asked: Asked) -> Any:
    return await _set(asked, await broker_of(asked), asked.path("key"))


async def groups(asked: Asked) -> Any:
    return await _list(asked, await _group(asked))


async def groups_one(asked: Asked) -> Any:
    return await _one(asked, await _group(asked), asked.query("key"))


async def set_groups(asked: Asked) -> Any:
    return await _set(asked, await _group(asked), asked.query("key"))


PAGES: Pages = (
    ("GET", "/console/topics/{topic}/settings", topics),
    ("GET", "/console/topics/{topic}/settings/{key}", topics_one),
    ("POST", "/console/topics/{topic}/settings/{key}", set_topics),
    ("GET", "/console/brokers/{broker}/settings/{key}", brokers_one),
    ("POST", "/console/brokers/{broker}/settings/{key}", set_brokers),
    ("GET", "/console/group/settings", groups),
    ("GET", "/console/group/setting", groups_one),
    ("POST", "/console/group/setting", set_groups),
)

"""The ASGI application: rooms, behind the entry."""

import socket

from starlette.applications import Starlette
from starlette.types import ASGIApp

from kafkapy.http.entrance.entry import Entry
from kafkapy.http.entrance.login import Logins
from kafkapy.http.problems import handlers
from kafkapy.http.rooms import all_routes
from kafkapy.http.site import Site


def make_app(site: Site) -> ASGIApp:
    pages = Starlette(routes=all_routes(site), exception_handlers=handlers(site))
    node = site.link.node
    endpoints = (*node.endpoints.broker, *node.endpoints.controller)
    names = [socket.gethostname(), *(one.host for one in endpoints)]
    return Entry(pages, site.config, Logins(site.link), site.journal, names, site.answered)

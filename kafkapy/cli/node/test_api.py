"""`kafkapy serve --test-api`: the test kit's broker as a process, with its HTTP API beside it.

What is not configured is as in tests: data in memory, small internal topics, no waiting before
a group's first rebalance. Main thread: signals. The broker and the API have their own.
"""

import argparse
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.cli.main import Failed
from kafkapy.cli.output import tell

# Elsewhere than on POSIX a wait without end keeps signals from being handled.
_LOOK_SECONDS: Final = 1.0


def serve_for_tests(options: argparse.Namespace, config: BrokerConfig) -> int:
    from kafkapy.testing.broker import Broker
    from kafkapy.testing.http import Kit, TestApi, loopback_address

    try:
        host, port = loopback_address(options.test_api)
    except ValueError as bad:
        raise Failed(f"--test-api {bad}") from None
    settings = {name: text for name, text in config.static.items() if name not in config.unknown}
    endpoint = config.listening.broker[0]
    directory = None
    if options.config is None:
        del settings["listeners"]
    if options.config is None and options.data is None:
        del settings["log.dirs"]
    else:
        directory = config.data_directories[0]

    def make(fixed_port: int | None) -> Broker:
        wanted = endpoint.port if fixed_port is None else fixed_port
        return Broker(settings, directory=directory, host=endpoint.host, port=wanted)

    kit = Kit(make)
    with _told_to_stop() as stop:
        try:
            kit.start()
        except (OSError, ValueError) as failed:
            raise Failed(f"cannot serve on {endpoint.host}:{endpoint.port}: {failed}") from None
        try:
            api = TestApi(kit, host, port)
        except OSError as failed:
            kit.close()
            raise Failed(f"--test-api {options.test_api}: {failed.strerror}") from None
        tell(_line(kit.broker.bootstrap, api.url, directory, options.json))
        while not stop.wait(_LOOK_SECONDS):
            pass
        api.close()
        kit.close()
    return 0


def _line(bootstrap: str, url: str, directory: str | None, as_json: bool) -> str:
    data = "memory" if directory is None else directory
    if as_json:
        told: dict[str, Any] = {"event": "serving", "address": bootstrap}
        return json.dumps({**told, "data": data, "test_api": url})
    return f"kafkapy serves on {bootstrap} (for tests, data in {data}); test API on {url}"


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set; the handlers of before come back."""
    stop = threading.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {one: signal.signal(one, lambda *_: stop.set()) for one in signals}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)

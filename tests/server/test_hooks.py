"""Where a node finds its hooks."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.hooks import Place, ProduceHook, Record
from kafkapy.hooks.source import CannotLoad
from kafkapy.server.hooks import InstalledHooks
from kafkapy.testing.node.shell import Heard

SOURCE = """
from kafkapy.hooks import ProduceHook

class Mask(ProduceHook):
    def produced(self, record, place):
        return record._replace(value=b"*")

class Fails(ProduceHook):
    def __init__(self):
        raise RuntimeError("no")

ready = Mask()
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module, and a package with entry points as pip leaves one behind."""
    (tmp_path / "shop_hooks.py").write_text(SOURCE)
    (tmp_path / "shop_broken.py").write_text("import no_such_module")
    (tmp_path / "shop_exits.py").write_text("raise SystemExit(1)")
    info = tmp_path / "shop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[kafkapy.hooks]\ninstalled = shop_hooks:Mask\nbroken = shop_broken:Mask\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "shop_hooks"
    sys.modules.pop("shop_hooks", None)


def masked(hook: object) -> bytes | None:
    assert isinstance(hook, ProduceHook)
    return hook.produced(Record(0, 0, None, b"secret"), Place("t", 0)).value


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("mask=shop_hooks:Mask", "mask"),
        ("shop_hooks:Mask", "Mask"),
        ("shop_hooks:ready", "ready"),
        (" m = shop_hooks:ready ", "m"),
    ],
)
def test_a_hook_is_found_by_its_name_in_the_settings(shop: str, setting: str, name: str) -> None:
    heard = Heard()
    hooks = InstalledHooks([setting], heard)
    assert masked(hooks.find(name)) == b"*"
    assert hooks.find(name) is hooks.find(name)
    assert not heard.events


def test_a_hook_of_an_installed_package_needs_no_setting(shop: str) -> None:
    assert masked(InstalledHooks([], Heard()).find("installed")) == b"*"


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("m=no_such_module:Mask", "ModuleNotFoundError"),
        ("m=shop_hooks:Nobody", "AttributeError"),
        ("m=shop_hooks:Fails", "RuntimeError"),
        ("m=shop_broken:Mask", "no_such_module"),
        ("m=shop_exits:Mask", "SystemExit"),
        ("m=shop_hooks", "is not module:attribute"),
    ],
)
def test_what_cannot_be_loaded_is_said_at_the_start_and_when_it_is_wanted(
    shop: str, setting: str, why: str
) -> None:
    heard = Heard()
    hooks = InstalledHooks([setting], heard)
    ((_, event, facts),) = heard.events
    assert event == "hook cannot be loaded"
    assert why in str(facts["reason"])
    for _ in range(2):
        with pytest.raises(CannotLoad, match=why):
            hooks.find("m")


def test_what_nobody_has_is_not_found(shop: str) -> None:
    hooks = InstalledHooks([], Heard())
    with pytest.raises(CannotLoad, match="no hook nobody"):
        hooks.find("nobody")
    with pytest.raises(CannotLoad, match="no_such_module"):
        hooks.find("broken")

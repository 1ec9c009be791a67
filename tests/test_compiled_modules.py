"""What may stand in the modules that setup.py compiles (docs/decisions/0006)."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())
_PARTS = _PROJECT["tool"]["kafkapy"]
_COMPILED = [
    f"{name.replace('.', '/')}.py" for name in _PARTS["compiled"] + _PARTS["compiled-world"]
]


@pytest.mark.parametrize("path", _COMPILED)
def test_no_bound_of_a_slice_is_a_call(path: str) -> None:
    """mypyc 2.4.1 calls `write` twice in `view[write() :]`."""
    assert list(_calls_in_slices((_ROOT / path).read_text())) == []


@pytest.mark.parametrize("path", _COMPILED)
def test_no_dataclass_is_compiled(path: str) -> None:
    """mypyc would make its own of them, without what core/data.py makes."""
    assert "kafkapy.core.data" not in (_ROOT / path).read_text()


@pytest.mark.parametrize("path", _COMPILED)
def test_no_named_tuple_has_a_bare_memoryview(path: str) -> None:
    """mypyc looks the name up where it is not: KeyError when the module is imported."""
    for node in ast.walk(ast.parse((_ROOT / path).read_text())):
        if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases):
            fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            assert "memoryview" not in {ast.unparse(one.annotation) for one in fields}, node.name


def test_the_compiler_finds_nothing_wrong_where_no_dependency_is(tmp_path: Path) -> None:
    """As in an isolated build: it stops at errors in whatever a compiled module imports."""
    modules = [part for path in _COMPILED for part in ("-m", path[:-3].replace("/", "."))]
    mypy = [sys.executable, "-m", "mypy", "--no-site-packages", "--cache-dir", str(tmp_path)]
    done = subprocess.run(
        [*mypy, "--config-file=", "--ignore-missing-imports", *modules],
        capture_output=True, text=True, cwd=_ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_calls_in_slices_are_found() -> None:
    source = "view[write(view) :]\nview[a:b]\nrows[at()]\nview[: len(view) - size()]"
    assert list(_calls_in_slices(source)) == [1, 4]


def test_the_compiler_is_the_one_that_was_tried() -> None:
    assert _PROJECT["tool"]["kafkapy"]["compile-requires"] == [
        one for one in _PROJECT["project"]["optional-dependencies"]["dev"] if "mypy" in one
    ]


def _calls_in_slices(source: str) -> Iterator[int]:
    """The lines of slices with a call in a bound; `len` of something changes nothing."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Slice):
            calls = [
                call
                for bound in (node.lower, node.upper, node.step)
                if bound is not None
                for call in ast.walk(bound)
                if isinstance(call, ast.Call) and ast.unparse(call.func) != "len"
            ]
            if calls:
                yield node.lineno

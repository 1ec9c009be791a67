"""Reading Protobuf schemas with protoc, which grpcio-tools brings along.

A schema comes as text, or as the base64 of its FileDescriptorProto, as confluent-kafka's
serializer registers it: that is turned into text first, so that there is one way in. protoc reads
files, so a schema and its imports lie in a directory of their own for as long as it runs; it
prints what is wrong, so its standard error goes to a file meanwhile. Only one thread of a process
may be here at a time: it is a worker's only one (kafkapy/http/registry/worker.py).
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import google
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError
from grpc_tools import _protoc_compiler, protoc

from kafkapy.http.registry.languages.protobuf.well_known import FILES
from kafkapy.http.registry.languages.protobuf.writing import text_of
from kafkapy.http.registry.languages.source import InvalidSchema, Source

#: The name of the schema itself among its imports.
MAIN = "schema.proto"
_WARNINGS = ("WARNING", "W0000", "I0000")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


class Files:
    """A schema and all that it imports, by name."""

    def __init__(self, found: FileDescriptorSet) -> None:
        self.by_name = {file.name: file for file in found.file}
        self.main = self.by_name[MAIN]


def read(source: Source) -> Files:
    """The descriptors; InvalidSchema with what protoc said."""
    texts = {each.name: each.text for each in source.imports}
    serialized = _serialized(source.text)
    if serialized is None:
        return _compiled_files({**texts, MAIN: source.text})
    # What it imports may define options of it, which are no more than bytes without.
    imports = "".join(f'import "{name}";\n' for name in serialized.dependency)
    others = _compiled_files({**texts, MAIN: f'syntax = "proto3";\n{imports}'}).by_name
    others.pop(MAIN)
    serialized.name = MAIN
    return _compiled_files({**texts, MAIN: text_of(serialized, others)})


def _compiled_files(texts: dict[str, str]) -> Files:
    with tempfile.TemporaryDirectory(prefix="kafkapy-protobuf-") as name:
        directory = Path(name)
        for file, text in {**FILES, **texts}.items():
            path = directory / _checked(file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        target = directory / ".descriptors"
        said = _compiled(directory, target)
        if said is not None:
            raise InvalidSchema(said[:1000])
        found = FileDescriptorSet()
        found.ParseFromString(target.read_bytes())
    return Files(found)


def _serialized(text: str) -> FileDescriptorProto | None:
    """The descriptor, if the text is one in base64."""
    if not _BASE64.fullmatch(text):
        return None
    file = FileDescriptorProto()
    try:
        file.ParseFromString(base64.b64decode(text))
    except (DecodeError, binascii.Error, ValueError):
        return None
    return file if file.ByteSize() else None


def _checked(name: str) -> str:
    """Imports are named by whoever registers them: they stay in the directory."""
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\0" in name or len(name) > 200:
        raise InvalidSchema(f"no name for a file: {name[:200]!r}")
    return name


def _compiled(directory: Path, target: Path) -> str | None:
    """None, or what is wrong."""
    arguments = [
        "protoc",
        f"--proto_path={directory}",
        *(f"--proto_path={path}" for path in _included()),
        f"--descriptor_set_out={target}",
        "--include_imports",
        MAIN,
    ]
    with _standard_error_in(directory / ".said") as said:
        status = _protoc_compiler.run_main([each.encode() for each in arguments])
    if status == 0:
        return None
    lines = said.read_text(encoding="utf-8", errors="replace").splitlines()
    # What protoc warns of is no reason, and where its files lay is nobody's business.
    wrong = [line for line in lines if not line.startswith(_WARNINGS)]
    return "\n".join(wrong).replace(f"{directory}/", "") or "protoc refuses it"


def _included() -> Iterator[str]:
    yield str(Path(protoc.__file__).parent / "_proto")
    yield from {str(Path(path).parent) for path in google.__path__}


@contextmanager
def _standard_error_in(path: Path) -> Iterator[Path]:
    sys.stderr.flush()
    kept = os.dup(2)
    file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.dup2(file, 2)
        yield path
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)

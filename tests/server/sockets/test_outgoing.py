"""What a connection has to send goes out in order, and the loop never waits for the disk."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy.core.seams import FileSlice
from kafkapy.server.disk import files
from kafkapy.server.disk.page_cache import bring_in, is_cached
from kafkapy.server.disk.real_disk import RealDisk
from kafkapy.server.sockets import outgoing
from kafkapy.server.sockets.outgoing import SENDFILE_FROM_BYTES, Outgoing

Work = Callable[[], None]


class Kit:
    """A file of known bytes, a socket, and worker threads that work when they are told."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[Work, Work]] = []
        self.cold: set[int] = set()
        self.disk = RealDisk(lambda work, then: self.asked.append((work, then)), 16)
        self.data = os.urandom(3_000_000)
        (path / "file").write_bytes(self.data)
        self.file = self.disk.open(f"{path}/file")
        ours, self.peer = socket.socketpair()
        ours.setblocking(False)
        self.peer.setblocking(False)
        self.socket = ours
        self.resumed = 0
        self.out = Outgoing(ours, self._resume)
        monkeypatch.setattr(files, "is_cached", self._is_cached)
        monkeypatch.setattr(files, "bring_in", self._bring_in)

    def _is_cached(self, fd: int, position: int, length: int) -> bool:
        return not any(position <= at < position + length for at in self.cold)

    def _bring_in(self, fd: int, position: int, length: int) -> None:
        self.cold = {at for at in self.cold if not position <= at < position + length}

    def _resume(self) -> None:
        self.resumed += 1
        self.out.send()

    def slice(self, position: int, length: int) -> FileSlice:
        return self.file.slice(position, length)

    def work(self) -> None:
        (work, then), *self.asked = self.asked
        work()
        then()

    def received(self) -> bytes:
        got = bytearray()
        while True:
            try:
                got += self.peer.recv(1 << 20)
            except BlockingIOError:
                if not self.out.unsent_bytes or self.out.is_waiting_for_disk:
                    return bytes(got)
                self.out.send()

    def close(self) -> None:
        self.out.drop()
        self.socket.close()
        self.peer.close()
        self.file.close()


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kit]:
    kit = Kit(tmp_path, monkeypatch)
    yield kit
    kit.close()


@pytest.mark.parametrize("length", [1, SENDFILE_FROM_BYTES - 1, SENDFILE_FROM_BYTES, 2_500_000])
def test_bytes_and_slices_leave_in_order(kit: Kit, length: int) -> None:
    kit.out.add([b"before", kit.slice(7, length), b"after", kit.slice(0, 10)])
    kit.out.send()
    assert kit.received() == b"before" + kit.data[7 : 7 + length] + b"after" + kit.data[:10]
    assert kit.out.unsent_bytes == 0
    assert not kit.asked


@pytest.mark.parametrize("length", [100, 2_500_000])
def test_a_slice_that_is_not_in_memory_waits_for_a_thread_and_all_behind_it(
    kit: Kit, length: int
) -> None:
    kit.cold = {50}
    kit.out.add([b"before", kit.slice(0, length), b"after"])
    kit.out.send()
    assert kit.received() == b"before"
    assert kit.out.is_waiting_for_disk
    kit.out.send()
    assert len(kit.asked) == 1
    kit.work()
    assert kit.resumed == 1
    assert kit.received() == kit.data[:length] + b"after"


def test_what_was_written_moments_ago_is_in_memory(kit: Kit) -> None:
    size = len(kit.data)
    kit.cold = {100, size, size + 50}
    kit.file.append([b"new" * 100])
    kit.out.add([kit.slice(size, 300), kit.slice(100, 10)])
    kit.out.send()
    assert kit.received() == b"new" * 100
    assert len(kit.asked) == 1  # for the old one
    kit.work()
    assert kit.received() == kit.data[100:110]
    kit.file.truncate(size - 10)
    kit.file.append([b"anew"])
    kit.out.add([kit.slice(size - 10, 4)])
    assert not kit.asked


def test_each_stretch_of_a_long_slice_is_asked_for_when_it_is_sent(kit: Kit) -> None:
    kit.cold = {100, outgoing.CACHED_AT_ONCE_BYTES + 1}
    kit.out.add([kit.slice(0, 2_500_000)])
    kit.out.send()
    got = kit.received()
    kit.work()
    got += kit.received()
    assert len(got) == outgoing.CACHED_AT_ONCE_BYTES
    kit.work()
    assert got + kit.received() == kit.data[:2_500_000]


def test_a_connection_that_is_gone_meanwhile_leaves_no_descriptor_pinned(kit: Kit) -> None:
    kit.cold = {50}
    kit.out.add([kit.slice(0, 100_000)])
    kit.out.send()
    kit.out.drop()
    kit.work()
    assert kit.resumed == 0
    assert kit.file.handle is not None
    assert kit.file.handle.pins == 0


def test_what_was_just_written_is_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "new"
    path.write_bytes(bytes(300_000))
    with path.open("rb") as file:
        assert is_cached(file.fileno(), 0, 300_000)
        bring_in(file.fileno(), 0, 400_000)

"""kcat: the one on the PATH, else Debian's packages unpacked into the cache (no root needed)."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

from compat_tests import installation
from compat_tests.installation import Unavailable

# Debian 12's kcat and the two libraries of its own that a machine may lack.
PACKAGES = ("kcat=1.7.1-2", "librdkafka1=2.0.2-1", "libyajl2=2.1.0-3+deb12u2")


@cache
def command() -> tuple[str, ...]:
    """How kcat is started here."""
    if (found := shutil.which("kcat")) is not None:
        return (found,)
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise Unavailable(f"no kcat and no {tool} on the PATH to fetch it")
    unpacked = installation.cache() / "-".join(["kcat", PACKAGES[0].partition("=")[2]])
    if not unpacked.is_dir():
        _fetch(unpacked.with_suffix(".part"))
        unpacked.with_suffix(".part").rename(unpacked)
    libraries = sorted({file.parent for file in (unpacked / "usr/lib").rglob("*.so.*")})
    path = ":".join(map(str, libraries))
    return ("env", f"LD_LIBRARY_PATH={path}", str(unpacked / "usr/bin/kcat"))


def kcat(broker: str, *arguments: str, stdin: str = "") -> str:
    """What it prints; its failure is the test's."""
    done = run(broker, *arguments, stdin=stdin)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def run(broker: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command(), "-b", broker, "-X", "broker.address.family=v4", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _fetch(into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    commands = [["apt-get", "download", "-q", *PACKAGES]]
    for package in PACKAGES:
        commands.append(["sh", "-c", f"dpkg-deb -x {package.partition('=')[0]}_*.deb ."])
    for each in commands:
        done = subprocess.run(each, cwd=into, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"kcat: {' '.join(each)}: {done.stderr.strip().splitlines()[-1]}")

"""`kafkapy completion`: what the shells offer, asked of a real one where it is installed."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from kafkapy.cli.completion import commands
from kafkapy.cli.main import COMMANDS, command_parser, main

_SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def script(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    """For bash, in a file."""
    return _script("bash", tmp_path, capfd)


def _script(shell: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    path = tmp_path / f"kafkapy.{shell}"
    path.write_text(capfd.readouterr().out)
    return path


def _offered(script: Path, *words: str, cwd: Path | None = None) -> list[str]:
    """What bash would complete the last of the words with."""
    ask = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kafkapy; '
    ask += 'printf "%s\\n" "${COMPREPLY[@]}"'
    bash = ["bash", "--norc", "-c", ask, "ask", str(script), *words]
    done = subprocess.run(bash, capture_output=True, text=True, check=True, timeout=60, cwd=cwd)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("kafkapy", "top"), ["topics"]),
        (("kafkapy", "topics", "de"), ["describe", "delete"]),
        (("kafkapy", "topics", "create", "orders", "--part"), ["--partitions"]),
        (("kafkapy", "topics", "create", "--boot"), ["--bootstrap-server"]),
        (("kafkapy", "groups", "reset-offsets", "g", "--to-e"), ["--to-earliest"]),
        (("kafkapy", "consume", "orders", "--format", ""), ["value", "full", "json"]),
        (("kafkapy", "consume", "orders", "--format", "=", "j"), ["json"]),
        (("kafkapy", "produce", "--acks", "=", "topics", "--format", "j"), ["json"]),
        (("kafkapy", "completion", ""), sorted(_SHELLS)),
        (("kafkapy", "--ver"), ["--version"]),
        # A name that only its owner knows: nothing, rather than something wrong.
        (("kafkapy", "topics", "create", ""), [""]),
        (("kafkapy", "topics", "create", "--config", ""), [""]),
    ],
)
def test_bash_offers_what_argparse_takes(
    script: Path, words: tuple[str, ...], offered: list[str]
) -> None:
    assert _offered(script, *words) == offered


def test_bash_offers_files_where_files_are_meant(script: Path, tmp_path: Path) -> None:
    (tmp_path / "my logs").mkdir()
    (tmp_path / "my.properties").touch()
    there = ["my logs", "my.properties"]
    assert sorted(_offered(script, "kafkapy", "dump-log", "my", cwd=tmp_path)) == there
    assert sorted(_offered(script, "kafkapy", "serve", "--config", "my", cwd=tmp_path)) == there
    assert _offered(script, "kafkapy", "serve", "--data", "my", cwd=tmp_path) == ["my logs"]


def test_a_person_at_a_terminal_presses_tab(script: Path) -> None:
    """A bash with a terminal of its own; `kafkapy` is a function that says what it was given."""
    us, terminal = pty.openpty()
    # Nothing of the user's: an inputrc may ask before it completes.
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "PS1": "$ ", "INPUTRC": "/dev/null"}
    bash = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=terminal, stdout=terminal, stderr=terminal, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    try:
        define = 'kafkapy() { echo "given: $*."; }'
        typed = f"source {script}; {define}\nkafkapy top\tcre\torders --part\t3\nexit\n"
        os.write(us, typed.encode())
        seen = _read_all(us)
        assert "given: topics create orders --partitions 3." in seen, seen
        assert bash.wait(timeout=60) == 0
    finally:
        bash.kill()
        bash.wait()
        os.close(us)


def _read_all(terminal: int) -> str:
    seen = b""
    try:
        while more := os.read(terminal, 1 << 16):
            seen += more
    except OSError:
        pass  # how Linux says that nobody has the other end open
    return seen.decode()


@pytest.mark.parametrize("shell", _SHELLS)
def test_a_script_is_one_that_its_shell_reads(
    shell: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    subprocess.run([shell, "-n", _script(shell, tmp_path, capfd)], check=True, timeout=60)


@pytest.mark.parametrize("shell", _SHELLS)
def test_every_command_and_option_is_in_every_script(
    shell: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = _script(shell, tmp_path, capfd).read_text()
    tree = list(commands("kafkapy", command_parser(COMMANDS)))
    assert {"kafkapy topics create", "kafkapy serve"} <= {command.path for command in tree}
    for command in tree:
        assert command.path in text
        for option in command.options:
            for name in option.names:
                assert (f"-l {name[2:]}" if shell == "fish" and name[1] == "-" else name) in text

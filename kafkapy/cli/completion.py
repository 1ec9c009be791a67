"""`kafkapy completion bash|zsh|fish`: what a shell needs to complete the commands.

    bash    source <(kafkapy completion bash)
    zsh     source <(kafkapy completion zsh)
    fish    kafkapy completion fish | source

It is made from argparse's tree of all commands, so that it knows what they know: `commands()`
walks that tree, and a function for each shell writes it down. A shell asks the script, which
never starts kafkapy: that would take longer than a person waits for a Tab.
"""

import argparse
import shlex
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class Option(NamedTuple):
    """`values` are those it may have; `kind` is FILE or DIR where it names one."""

    names: tuple[str, ...]
    about: str
    takes_value: bool
    values: tuple[str, ...]
    kind: str | None


class Command(NamedTuple):
    """`path` as it is typed, from `kafkapy` on. `words` are what may come next, with what
    they mean: the commands below it, or the values of what it is about."""

    path: str
    words: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]
    kind: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=sorted(_SHELLS))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kafkapy.cli.main import COMMANDS, command_parser

    print(_SHELLS[options.shell](list(commands("kafkapy", command_parser(COMMANDS)))))
    return 0


def commands(path: str, parser: argparse.ArgumentParser) -> Iterator[Command]:
    """The command and all below it."""
    words: list[tuple[str, str]] = []
    options: list[Option] = []
    kind = None
    below: dict[str, argparse.ArgumentParser] = {}
    # argparse has no public way into its own tree.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below = action.choices
            words += [(one.dest, one.help or "") for one in action._choices_actions]
        elif action.option_strings:
            options.append(_option(action))
        else:
            words += [(str(one), "") for one in action.choices or ()]
            kind = kind or _kind(action)
    yield Command(path, tuple(words), tuple(options), kind)
    for name, sub in below.items():
        yield from commands(f"{path} {name}", sub)


def _option(action: argparse.Action) -> Option:
    about = (action.help or "") % {**vars(action), "prog": ""}
    values = tuple(map(str, action.choices or ()))
    return Option(tuple(action.option_strings), about, action.nargs != 0, values, _kind(action))


def _kind(action: argparse.Action) -> str | None:
    return action.metavar if action.metavar in ("FILE", "DIR") else None


# --- bash ---

_BASH: Final = """\
# bash completion of kafkapy: source <(kafkapy completion bash)
_kafkapy() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
    local at=kafkapy index
    # `=` is a word of its own to bash.
    if [[ $current == "=" ]]; then current=; fi
    if [[ $previous == "=" ]]; then previous=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
    for ((index = 1; index < COMP_CWORD; index++)); do
        case "$at ${{COMP_WORDS[index]}}" in
            {paths}) at="$at ${{COMP_WORDS[index]}}" ;;
        esac
    done
    COMPREPLY=()
    case "$at $previous" in
{values}
    esac
    case "$at" in
{commands}
    esac
}}
complete -F _kafkapy kafkapy"""

_BASH_KINDS: Final = {"FILE": "-f", "DIR": "-d"}


def _bash(tree: list[Command]) -> str:
    values, found = [], []
    for command in tree:
        for option in command.options:
            if option.takes_value:
                reply = _bash_reply(_bash_words(option.values, option.kind))
                values.append(f"        {_patterns(command, option)}) {reply}return ;;")
        words = [word for word, _ in command.words]
        options = [name for option in command.options for name in option.names]
        found.append(
            f"        {shlex.quote(command.path)})\n"
            f"            if [[ $current == -* ]]; then {_bash_reply(_bash_words(options, None))}\n"
            f"            else {_bash_reply(_bash_words(words, command.kind)) or ':'}\n"
            "            fi ;;"
        )
    return _BASH.format(paths=_paths(tree), values="\n".join(values), commands="\n".join(found))


def _bash_words(words: tuple[str, ...] | list[str], kind: str | None) -> str:
    if kind is not None:
        return _BASH_KINDS[kind]
    return f"-W {shlex.quote(' '.join(words))}" if words else ""


def _bash_reply(generator: str) -> str:
    if not generator:
        return ""
    is_files = not generator.startswith("-W")
    # A name may have spaces: mapfile, and `filenames` quotes it and ends a directory with /.
    files = "compopt -o filenames 2>/dev/null; " if is_files else ""
    return f'{files}mapfile -t COMPREPLY < <(compgen {generator} -- "$current"); '


# --- zsh ---

_ZSH: Final = """\
#compdef kafkapy
# zsh completion of kafkapy: source <(kafkapy completion zsh), or a file _kafkapy in $fpath
_kafkapy() {{
    local at=kafkapy index
    local -a found
    for ((index = 2; index < CURRENT; index++)); do
        case "$at $words[index]" in
            ({paths}) at="$at $words[index]" ;;
        esac
    done
    case "$at $words[CURRENT-1]" in
{values}
    esac
    case "$at" in
{commands}
    esac
}}
if [[ ${{funcstack[1]}} == _kafkapy ]]; then _kafkapy "$@"; else compdef _kafkapy kafkapy; fi"""

_ZSH_KINDS: Final = {"FILE": "_files; ", "DIR": "_files -/; "}


def _zsh(tree: list[Command]) -> str:
    values, found = [], []
    for command in tree:
        for option in command.options:
            if option.takes_value:
                words = shlex.join(option.values)
                reply = _ZSH_KINDS[option.kind] if option.kind else ""
                reply = reply or (f"compadd -- {words}; " if words else "")
                values.append(f"        ({_patterns(command, option)}) {reply}return ;;")
        words = _zsh_described(command.words)
        options = _zsh_described(
            [(name, option.about) for option in command.options for name in option.names]
        )
        otherwise = _ZSH_KINDS[command.kind] if command.kind else ""
        otherwise = otherwise or (f"found=({words}); _describe command found" if words else ":")
        found.append(
            f"        ({shlex.quote(command.path)})\n"
            "            if [[ $words[CURRENT] == -* ]]; then\n"
            f"                found=({options}); _describe -o option found\n"
            f"            else {otherwise}\n"
            "            fi ;;"
        )
    return _ZSH.format(paths=_paths(tree), values="\n".join(values), commands="\n".join(found))


def _zsh_described(words: "list[tuple[str, str]] | tuple[tuple[str, str], ...]") -> str:
    escaped = [(word.replace(":", r"\:"), about) for word, about in words]
    return shlex.join(f"{word}:{about}" if about else word for word, about in escaped)


# --- fish ---

_FISH: Final = """\
# fish completion of kafkapy: kafkapy completion fish | source
function __kafkapy_at
    set -l at kafkapy
    for word in (commandline -opc)
        if contains -- "$at $word" {paths}
            set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c kafkapy -f
{lines}"""

_FISH_KINDS: Final = {"FILE": "-r -F", "DIR": "-x -a '(__fish_complete_directories)'"}


def _fish(tree: list[Command]) -> str:
    lines = []
    for command in tree:
        is_there = f'__kafkapy_at "{command.path}"'
        where = f"complete -c kafkapy -n {_fish_quoted(is_there)}"
        if command.kind:
            lines.append(f"{where} -F")
        for word, about in command.words:
            lines.append(f"{where} -a {_fish_quoted(word)} -d {_fish_quoted(about)}")
        for option in command.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            lines.append(f"{where} {names}{_fish_value(option)} -d {_fish_quoted(option.about)}")
    paths = " ".join(_fish_quoted(command.path) for command in tree[1:])
    return _FISH.format(paths=paths, lines="\n".join(lines))


def _fish_value(option: Option) -> str:
    if not option.takes_value:
        return ""
    if option.kind:
        return f" {_FISH_KINDS[option.kind]}"
    return f" -x -a {_fish_quoted(' '.join(option.values))}" if option.values else " -x"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# --- bash and zsh ---


def _paths(tree: list[Command]) -> str:
    """A pattern for every command but `kafkapy` itself."""
    return "|".join(shlex.quote(command.path) for command in tree[1:])


def _patterns(command: Command, option: Option) -> str:
    return "|".join(shlex.quote(f"{command.path} {name}") for name in option.names)


_SHELLS: Final[dict[str, Callable[[list[Command]], str]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}

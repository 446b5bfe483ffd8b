"""``rsbounds completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the ``completion`` command."""
    parser = subparsers.add_parser(
        "completion",
        help="completion for a shell",
        description="Print the completion script of a shell: put "
        '`eval "$(rsbounds completion bash)"` into its start-up file.',
    )
    parser.add_argument("shell", choices=("bash", "zsh"))
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from rsbounds.cli import parser

    words: dict[str, list[str]] = {"": []}
    for action in parser()._actions:
        if not isinstance(action, argparse._SubParsersAction):
            words[""] += action.option_strings
            continue
        for name, command in action.choices.items():
            words[""].append(name)
            words[name] = [flag for own in command._actions for flag in own.option_strings]
    cases = "\n".join(f"    {k or '*'}) words='{' '.join(v)}' ;;" for k, v in _last(words))
    if args.shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    print(
        "_rsbounds() {\n"
        "  local words\n"
        '  case "${COMP_WORDS[1]}" in\n'
        f"{cases}\n"
        "  esac\n"
        '  [ "$COMP_CWORD" -eq 1 ] && words=\'' + " ".join(words[""]) + "'\n"
        '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))\n'
        "}\n"
        "complete -o default -F _rsbounds rsbounds"
    )
    return 0


def _last(words: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    """The default case behind the others."""
    return [item for item in words.items() if item[0]] + [("", words[""])]

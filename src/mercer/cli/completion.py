"""The completion of commands and flags in bash, written from the parser itself.

``python -m mercer.cli.completion > completions/mercer.bash`` writes the file anew.
"""

from __future__ import annotations

import sys
from argparse import Action

from mercer.cli.commands import commands_of, parser

TEMPLATE = """\
# Completion of the mercer command for bash; for zsh too, after `autoload -U bashcompinit`
# and `bashcompinit`.
# Written by `python -m mercer.cli.completion`; do not edit.

_mercer() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
    local words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "%(commands)s" -- "$word"))
        return
    fi
    case "$command $before" in
%(choices)s
    esac
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        return
    fi
    case "$command" in
%(flags)s
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}
complete -o filenames -F _mercer mercer
"""


def script() -> str:
    """Return the completion of everything the parser knows.

    >>> "--kernel" in script()
    True
    """
    whole = parser()
    choices, flags = [], []
    for name, made in commands_of(whole).items():
        options = [a for a in made.actions if a.option_strings]
        listed = " ".join(option for a in options for option in a.option_strings)
        flags.append(f'        {name}) words="{listed}" ;;')
        for action in options:
            if action.choices:
                pattern = "|".join(f'"{name} {option}"' for option in action.option_strings)
                choices.append(f'        {pattern}) words="{_words(action)}" ;;')
        place = next((a for a in made.actions if not a.option_strings and a.choices), None)
        if place is not None:
            choices.append(f'        "{name} {name}") words="{_words(place)}" ;;')
    return TEMPLATE % {
        "commands": " ".join([*commands_of(whole), "--help", "--version"]),
        "choices": "\n".join(choices),
        "flags": "\n".join(flags),
    }


def _words(action: Action) -> str:
    return " ".join(str(choice) for choice in action.choices or ())


if __name__ == "__main__":
    sys.stdout.write(script())

"""docs/command-line.md: what each verb's --help says."""

from pathlib import Path

from command_line.description import EXIT_STATUS, EXIT_STATUSES, Verb, ask

_STATUSES = "\n".join(f"| {status} | {meaning} |" for status, meaning in EXIT_STATUSES.items())
INTRODUCTION = f"""# Command line

<!-- Written by scripts/command_line_page.py from what the command says of itself: change it there. -->

{EXIT_STATUS}`TERRACE=off` in the environment makes Terrace vanish.

| exit status | what it means |
| --- | --- |
{_STATUSES}
"""


def help_of(terrace: Path, words: list[str]) -> str:
    """The help text of one verb."""
    return "\n".join(line.rstrip() for line in ask(terrace, *words, "--help").strip().splitlines())


def page(terrace: Path, verbs: list[Verb]) -> str:
    """The whole page; verbs that have verbs of their own are not on it."""
    sections = [f"```text\n{help_of(terrace, [])}\n```\n"]
    sections += [
        f"## terrace {verb.name}\n\n```text\n{help_of(terrace, verb.words)}\n```\n"
        for verb in verbs
        if not verb.verbs
    ]
    return "\n".join([INTRODUCTION, *sections])

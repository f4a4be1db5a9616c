# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/command-line.md, for command_line_page.py: the --help text of each subcommand."""

from pathlib import Path

from command_line.description import EXIT_STATUS, EXIT_STATUSES, Subcommand, ask

_STATUSES = "\n".join(f"| {status} | {meaning} |" for status, meaning in EXIT_STATUSES.items())
INTRODUCTION = f"""# Command line

<!-- Written by scripts/command_line_page.py from `terrace --describe`: do not edit. -->

{EXIT_STATUS}`TERRACE=off` in the environment disables Terrace.

| exit status | meaning |
| --- | --- |
{_STATUSES}
"""


def help_of(terrace: Path, words: list[str]) -> str:
    """Returns the help text of one subcommand."""
    return "\n".join(line.rstrip() for line in ask(terrace, *words, "--help").strip().splitlines())


def page(terrace: Path, subcommands: list[Subcommand]) -> str:
    """Returns the page; groups of subcommands have no section."""
    sections = [f"```text\n{help_of(terrace, [])}\n```\n"]
    sections += [
        f"## terrace {subcommand.name}\n\n```text\n{help_of(terrace, subcommand.words)}\n```\n"
        for subcommand in subcommands
        if not subcommand.subcommands
    ]
    return "\n".join([INTRODUCTION, *sections])

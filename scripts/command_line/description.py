# SPDX-License-Identifier: Apache-2.0
"""Reads the subcommands and their options from `terrace --describe` and `terrace SUBCOMMAND --describe`, for the
generators of this folder."""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXIT_STATUS = """\
Exit status: 0 done, 1 failed, 2 usage error, the same for every subcommand. A file or machine that is named and
does not exist is a usage error, and so are a file of another kind and a text file that breaks its format, such
as a plan that is refused; a damaged profile, recording or trace is a failure. `run`, `record`, `simulate` and
`lab trace` end as the program ended, by the same signal if it was killed by one. Every subcommand that starts a
program ends with 127 if there is no such program, and with 126 if it cannot be executed, as shells do. The
program's standard output is passed through unchanged; Terrace writes to standard error.
"""
# Statuses, for the page.
EXIT_STATUSES = {
    "0": "done",
    "1": "failed: the request could not be carried out, for example because a file is damaged, a process has no "
    "profile, or `record` and `simulate` ran a program that cannot load Terrace",
    "2": "usage error: change the arguments",
    "126": "the program cannot be executed",
    "127": "there is no such program",
    "130": "interrupted (Ctrl-C), where the signal itself did not end the subcommand",
    "the program's own": "`run`, `record`, `simulate` and `lab trace`; a signal that killed the program ends "
    "the subcommand too",
}
# Options whose values are names of a kind, which `terrace --names KIND` prints. An option has one meaning in all
# subcommands.
NAMES = {
    "--machine": "machines",
    "--machines": "machines",
    "--planner": "planners",
    "--planners": "planners",
    "--collector": "collectors",
    "--progress": "progress",
    "--intent": "intents",
    "--only": "workloads",
}
_FILES = ("path", "file", "JOURNAL")
_FOLDERS = ("dir", "FOLDER")


@dataclass(frozen=True)
class Offer:
    """A source of completions for a value: files (with an ending), folders, names of a kind, or words."""

    what: str
    which: str = ""


@dataclass(frozen=True)
class Option:
    """An option, a positional argument, or one that may be given either way."""

    names: list[str]
    argument: str
    value: str
    default: str
    about: str
    required: bool
    repeats: bool
    needs: list[str]
    excludes: list[str]
    group: str = ""  # heading in the help

    @property
    def shown(self) -> str:
        """Returns the name shown for a positional argument: FILE.terrace, or its own name if it has many forms."""
        return self.value if re.search("[A-Z]{2}", self.value) and "|NAME" not in self.value else self.argument

    @property
    def offers(self) -> list[Offer]:
        """Returns the sources of completions for the value; empty if there are none."""
        found: list[Offer] = []
        for part in (part.strip() for part in self.value.split("|")):
            if part in _FILES or part.startswith("FILE"):
                found.append(Offer("files", part[4:]))
            elif part in _FOLDERS:
                found.append(Offer("folders"))
            elif re.fullmatch("[a-z]+", part) and "|" in self.value:
                found.append(Offer("words", part))
        named = [NAMES[name] for name in [*self.names, f"--{self.argument}"] if name in NAMES]
        if not named and self.argument and "NAME" in self.value.split("|"):
            named = ["machines"]
        found += [Offer("names", kind) for kind in named[:1]]
        if named[:1] == ["machines"] and Offer("files") not in found and self.names[-1:] != ["--machines"]:
            found.append(Offer("files"))
        return found


@dataclass(frozen=True)
class Subcommand:
    """A subcommand, with its options or with its own subcommands; the root has no words."""

    words: list[str]
    about: str
    more: str = ""
    program: bool = False
    passed_on_to: str = ""
    options: list[Option] = field(default_factory=list)
    subcommands: list[tuple[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Returns the words after `terrace`."""
        return " ".join(self.words)

    @property
    def dashed(self) -> list[Option]:
        """Returns the options that have dashes."""
        return [option for option in self.options if option.names]

    @property
    def arguments(self) -> list[Option]:
        """Returns the positional arguments."""
        return [option for option in self.options if option.argument]


def ask(terrace: Path, *words: str) -> str:
    """Returns the command's output, without colour and with a fixed width."""
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "TERMINAL_WIDTH": "100"}
    environment.pop("FORCE_COLOR", None)
    return subprocess.run(
        [str(terrace), *words], capture_output=True, text=True, check=True, env=environment
    ).stdout


def read(terrace: Path) -> list[Subcommand]:
    """Returns the root, then all subcommands, each group before its members."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return _read(terrace, [], pool)


def _read(terrace: Path, words: list[str], pool: ThreadPoolExecutor) -> list[Subcommand]:
    """Reads a subcommand and, if it is a group, all subcommands of it, concurrently."""
    subcommand = _parse(words, json.loads(ask(terrace, *words, "--describe")))
    # A group recurses in this thread: a pool whose workers wait for one another deadlocks.
    documents = pool.map(
        lambda name: json.loads(ask(terrace, *words, name, "--describe")), dict(subcommand.subcommands)
    )
    found = [subcommand]
    for (name, about), document in zip(subcommand.subcommands, documents, strict=True):
        if "verbs" in document:
            found += _read(terrace, [*words, name], pool)
        else:
            found.append(_parse([*words, name], document, about))
    return found


def _parse(words: list[str], document: dict[str, Any], about: str = "") -> Subcommand:
    """Returns the subcommand that a document of --describe describes."""
    if document["schema"] != 1:
        raise SystemExit(f"--describe prints schema {document['schema']}; this script reads schema 1")
    return Subcommand(
        words=words,
        about=document.get("about", "") or about,
        more=document.get("more", ""),
        program=document.get("program", False),
        passed_on_to=document.get("passed_on_to", ""),
        options=[Option(**option) for option in document.get("options", [])],
        subcommands=[(subcommand["name"], subcommand["about"]) for subcommand in document.get("verbs", [])],
    )

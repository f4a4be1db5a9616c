"""The verbs and their options, as `terrace --describe` and `terrace VERB --describe` say them."""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXIT_STATUS = """\
Exit status: 0 done, 1 failed, 2 called wrongly, the same for every verb. A file or machine that is named and is
not there is a wrong call, and so are a file of another kind and a text file that breaks its format, as a plan that
is refused; a profile, recording or trace that is damaged is a failure. `run`, `record`, `simulate` and `lab trace`
end as the program ended, also by its signal. Where there is no such program every verb that starts one ends with
127, and with 126 where it cannot be run, as shells do. What a program writes to its standard output passes
untouched; Terrace speaks on standard error.
"""
# The same by status, for the page.
EXIT_STATUSES = {
    "0": "done",
    "1": "failed: what was asked could not be done, as where a file is damaged, a process has no profile, or "
    "`record` and `simulate` ran a program that cannot load Terrace",
    "2": "called wrongly: the words of the call are to be changed",
    "126": "the program cannot be run",
    "127": "there is no such program",
    "130": "interrupted (Ctrl-C), where the signal itself did not end the verb",
    "the program's own": "`run`, `record`, `simulate` and `lab trace`; its signal ends the verb, too",
}
# Options whose values have names; `terrace --names KIND` prints them. The same option is the same in every verb.
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
    """What a completion offers for a value: files (with that ending), folders, names of a kind, or words."""

    what: str
    which: str = ""


@dataclass(frozen=True)
class Option:
    """An option, or an argument that has no dashes, or one that may be given either way."""

    names: list[str]
    argument: str
    value: str
    default: str
    about: str
    required: bool
    repeats: bool
    needs: list[str]
    excludes: list[str]

    @property
    def shown(self) -> str:
        """How an argument without dashes is called: FILE.terrace, or by its name where it has many forms."""
        return self.value if re.search("[A-Z]{2}", self.value) and "|NAME" not in self.value else self.argument

    @property
    def offers(self) -> list[Offer]:
        """For its value; empty for one that only its user knows."""
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
class Verb:
    """A verb, with its options or with the verbs below it; the root's words are empty."""

    words: list[str]
    about: str
    more: str = ""
    program: bool = False
    passed_on_to: str = ""
    options: list[Option] = field(default_factory=list)
    verbs: list[tuple[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The words after `terrace`."""
        return " ".join(self.words)

    @property
    def dashed(self) -> list[Option]:
        """The options that have dashes."""
        return [option for option in self.options if option.names]

    @property
    def arguments(self) -> list[Option]:
        """Those that have none."""
        return [option for option in self.options if option.argument]


def ask(terrace: Path, *words: str) -> str:
    """What the command prints, without colour and of one width wherever it is asked."""
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "TERMINAL_WIDTH": "100"}
    environment.pop("FORCE_COLOR", None)
    return subprocess.run(
        [str(terrace), *words], capture_output=True, text=True, check=True, env=environment
    ).stdout


def read(terrace: Path) -> list[Verb]:
    """The root first, then each verb, each group before its verbs."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return _read(terrace, [], pool)


def _read(terrace: Path, words: list[str], pool: ThreadPoolExecutor) -> list[Verb]:
    verb = _parse(words, json.loads(ask(terrace, *words, "--describe")))
    # A group asks for its own verbs' descriptions in this thread: a pool whose workers wait for one another hangs.
    documents = pool.map(lambda name: json.loads(ask(terrace, *words, name, "--describe")), dict(verb.verbs))
    found = [verb]
    for (name, about), document in zip(verb.verbs, documents, strict=True):
        if "verbs" in document:
            found += _read(terrace, [*words, name], pool)
        else:
            found.append(_parse([*words, name], document, about))
    return found


def _parse(words: list[str], document: dict[str, Any], about: str = "") -> Verb:
    if document["schema"] != 1:
        raise SystemExit(f"--describe speaks schema {document['schema']}, which this script does not know")
    return Verb(
        words=words,
        about=document.get("about", "") or about,
        more=document.get("more", ""),
        program=document.get("program", False),
        passed_on_to=document.get("passed_on_to", ""),
        options=[Option(**option) for option in document.get("options", [])],
        verbs=[(verb["name"], verb["about"]) for verb in document.get("verbs", [])],
    )

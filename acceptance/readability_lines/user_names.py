# SPDX-License-Identifier: Apache-2.0
"""Criteria of names that users rely on: options and API names of the baseline commit are still accepted.

Options are those of the baseline's docs/command-line.md. Each is passed to its subcommand with an option that does
not exist, so that the call fails before it does anything: the reply must not call the documented option unknown.
API names are what the baseline's public headers, Fortran modules and Python's array module declare.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness import ROOT, TERRACE, Line, Measured, run

from readability_lines.checks import BASELINE, baseline_text, none_of, tracked

PAGE = "docs/command-line.md"
UNKNOWN_OPTION = "--acceptance-unknown-option"
_NO_FILE = "/nonexistent"
# Arguments before and after the options: the first with which a subcommand reports the unknown option.
_SHAPES: tuple[tuple[list[str], list[str]], ...] = (
    ([], []),
    ([_NO_FILE], []),
    (["-o", _NO_FILE, _NO_FILE], []),
    ([], ["--", _NO_FILE]),
)
PYTHON_API = ("python/terrace/__init__.py", "python/terrace/arrays.py", "python/terrace/_arrays.pyi")
FORTRAN = (".f90", ".F90", ".inc")


# --- options -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """A documented spelling of an option."""

    name: str  # with dashes
    takes_value: bool

    @property
    def argument(self) -> str:
        """Returns the option as an argument, with the value 0 if it takes one."""
        if not self.takes_value:
            return self.name
        return f"{self.name}=0" if self.name.startswith("--") else f"{self.name}0"


def documented(page: str) -> dict[str, list[Option]]:
    """Returns the options of each subcommand, from the text of the generated page; help options are omitted."""
    found: dict[str, list[Option]] = {}
    for section in re.split(r"^## terrace ", page, flags=re.MULTILINE)[1:]:
        options = found.setdefault(section.partition("\n")[0].strip(), [])
        for match in re.finditer(
            r"^  (?=-)(?:(-\w)(?:, ?)?)?(--[a-z][a-z-]*)?(?:\{\w+\})?( \S)?", section, re.MULTILINE
        ):
            names = [name for name in (match[1], match[2]) if name and name not in ("-h", "--help")]
            options += [Option(name, match[3] is not None) for name in names]
    return found


def is_unknown(reply: str, name: str) -> bool:
    """Returns whether an error message calls an option unknown."""
    end = r"(?![\w-])" if name.startswith("--") else ""
    message = r"(?:unknown option|No such option|not expected)[^;]*?"
    return re.search(rf"{message}(?<![\w-]){re.escape(name)}{end}", reply) is not None


def _ask(*words: str) -> str:
    done = run([TERRACE, *words], check=False, timeout=120)
    return done.stderr + done.stdout


def rejected(subcommand: str, options: Sequence[Option], ask: Callable[..., str] = _ask) -> Iterator[str]:
    """Yields the options that a subcommand calls unknown, or one line if its replies do not tell."""
    words = subcommand.split()
    for before, after in _SHAPES:

        def reply(*arguments: str, before: list[str] = before, after: list[str] = after) -> str:
            return ask(*words, *before, *arguments, UNKNOWN_OPTION, *after)

        if is_unknown(reply(), UNKNOWN_OPTION):
            break
    else:
        yield f"terrace {subcommand}: does not report unknown options"
        return
    # One call for all; where another error hides the reply, a call for each.
    together = reply(*(option.argument for option in options))
    if is_unknown(together, UNKNOWN_OPTION) and not any(is_unknown(together, each.name) for each in options):
        return
    for option in options:
        if is_unknown(reply(option.argument), option.name):
            yield f"terrace {subcommand} {option.name}"


def options() -> Measured:
    subcommands = documented(baseline_text(PAGE))
    found = [text for name, each in subcommands.items() for text in rejected(name, each)]
    count = sum(map(len, subcommands.values()))
    return none_of(found, f"of {count} options of {len(subcommands)} subcommands are rejected")


# --- the API -----------------------------------------------------------------------------------------------------


def _without_details(text: str) -> str:
    """Returns C++ without the contents of namespaces named detail."""
    while match := re.search(r"\bnamespace\s+(?:\w+::)*detail\s*\{", text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: match.start()] + text[end:]
    return text


def declared(path: str, text: str) -> set[str]:
    """Returns the public names that a header, a Fortran module or a Python module declares.

    For C and C++ these are names before a parenthesis, types, and words in capitals: constants and macros. Names
    that inline code calls are among them, which makes the comparison stricter, not weaker.
    """
    if path.endswith((".py", ".pyi")):
        return set(_python_names(ast.parse(text)))
    if path.endswith(FORTRAN):
        text = re.sub(r"!.*", "", text)
        kinds = "subroutine|function|module|interface"
        return set(re.findall(rf"^\s*(?:\w+\s+)*?(?:{kinds})\s+(\w+)", text, re.MULTILINE | re.IGNORECASE))
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.DOTALL)
    text = _without_details(text)
    types = r"\b(?:class|struct|enum|union|using|concept)\s+(?:class\s+|struct\s+)?([A-Za-z_]\w*)"
    return {
        *re.findall(r"\b([A-Za-z_]\w*)\s*\(", text),
        *re.findall(types, text),
        *re.findall(r"^\s*#\s*define\s+(\w+)", text, re.MULTILINE),
        *re.findall(r"\b([A-Z][A-Z0-9_]{3,})\b", text),
    }


def _python_names(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from _python_names(node, f"{node.name}.")
        elif isinstance(node, ast.ImportFrom) and isinstance(tree, ast.Module):
            yield from (alias.asname or alias.name for alias in node.names)


def missing_names() -> tuple[int, list[str]]:
    """Returns the number of the baseline's API names, and those that the tree's file of the same path lacks."""
    count, missing = 0, []
    python = [path for path in PYTHON_API if tracked(path, commit=BASELINE)]
    for path in [*tracked("include/terrace", commit=BASELINE), *python]:
        before = declared(path, baseline_text(path))
        count += len(before)
        file = ROOT / path
        now = declared(path, file.read_text()) if file.is_file() else set()
        missing += [f"{path}: {name}" for name in sorted(before - now)]
    return count, missing


def api() -> Measured:
    count, missing = missing_names()
    return none_of(missing, f"of {count} names are missing")


LINES = [
    Line("options", f"every option of {BASELINE}'s command line is still accepted", options),
    Line("API names", f"every name of {BASELINE}'s public headers and modules is still declared", api),
]

# SPDX-License-Identifier: Apache-2.0
"""Names that users rely on: options and API names of the baseline commit are still accepted.

Options are those of the baseline's docs/command-line.md. Each is passed to its subcommand with an option that does
not exist, so that the call fails before it does anything: the reply must not call the documented option unknown.
API names are what the baseline's public headers, Fortran modules and Python's array module declare.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from conftest import ROOT, run

BASELINE = "503b3a67"  # the commit before the names were changed
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


def _git(*words: str) -> str:
    """Returns the output of git. Skips the test if this clone lacks the baseline commit."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout


def _baseline_text(path: str) -> str:
    return _git("show", f"{BASELINE}:{path}")


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


def _ask(verb: str, *words: str) -> str:
    done = run(*words, verb=verb)
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
    for path in _git("ls-tree", "-r", "--name-only", BASELINE, "include/terrace", *PYTHON_API).split():
        before = declared(path, _baseline_text(path))
        count += len(before)
        file = ROOT / path
        now = declared(path, file.read_text()) if file.is_file() else set()
        missing += [f"{path}: {name}" for name in sorted(before - now)]
    return count, missing


# --- tests -------------------------------------------------------------------------------------------------------

SAMPLE = """\
# Command line

## terrace run

```text
Options:
  -h,--help                       Print this help message and exit
  -m,--machine FILE|NAME          machine file
  --keep-plan{false}              keep to the plan; --undo is another
  --mark SHARE:0 to 0.95=0.1      share of each place
  -q,--quiet                      print no summary
```

## terrace export

```text
Options:
  -F, --format <perfetto|csv|json>
                                  What to write.
  --json                          Print JSON.
```
"""


def test_documented_both_layouts_names_and_values():
    assert documented(SAMPLE) == {
        "run": [
            *(Option("-m", True), Option("--machine", True), Option("--keep-plan", False)),
            *(Option("--mark", True), Option("-q", False), Option("--quiet", False)),
        ],
        "export": [Option("-F", True), Option("--format", True), Option("--json", False)],
    }


def test_option_with_value_is_one_argument():
    options = [Option("-m", True), Option("--machine", True), Option("--json", False)]
    assert [option.argument for option in options] == ["-m0", "--machine=0", "--json"]


@pytest.mark.parametrize(
    ("reply", "name", "expected"),
    [
        ("terrace: unknown option --mark=0; see terrace run --help", "--mark", True),
        ("terrace: unknown option --marks; see terrace run --help", "--mark", False),
        ("terrace: No such option: --clazz (Possible options: --class); see", "--clazz", True),
        ("terrace: The following arguments were not expected: --b --a=0; see", "--a", True),
        ("terrace: --mark: '1' is not a number from 0 to 0.95; see terrace run --help", "--mark", False),
        ("terrace: No such option: -z; see", "-z", True),
        ("terrace: unknown option --other; see --mark", "--mark", False),
    ],
)
def test_is_unknown(reply, name, expected):
    assert is_unknown(reply, name) == expected


def launcher(known, after=()):
    """Returns a launcher that reports the first unknown option, once its positional arguments are there."""

    def ask(*words):
        if not set(after) <= set(words):
            return "terrace: recording is required"
        unknown = [word for word in words if word.startswith("--") and word.split("=")[0] not in known]
        return f"terrace: unknown option {unknown[0]}; see" if unknown else ""

    return ask


@pytest.mark.parametrize("after", [(), ("/nonexistent",)])
def test_rejected_options_that_the_launcher_lacks(after):
    options = [Option("--mark", True), Option("--eager", False)]
    assert list(rejected("run", options, launcher({"--mark", "--eager"}, after))) == []
    assert list(rejected("run", options, launcher({"--eager"}, after))) == ["terrace run --mark"]


def test_rejected_silent_launcher_is_reported():
    assert list(rejected("run", [], lambda *words: "")) == ["terrace run: does not report unknown options"]


def test_declared_header_omits_details_and_comments():
    text = """
// terrace_gone(): no longer.
#define TERRACE_FLAG 1
int terrace_alloc(size_t bytes);
enum Kind { TERRACE_FAST };
namespace terrace::detail { void hidden() { if (true) {} } }
class Block {};
"""
    names = declared("a.h", text)
    assert {"terrace_alloc", "TERRACE_FLAG", "TERRACE_FAST", "Block"} <= names
    assert not {"hidden", "terrace_gone"} & names


def test_declared_fortran_and_python():
    assert declared("a.f90", "module terrace\n  integer function f(x)\n  ! subroutine g\n") == {"terrace", "f"}
    assert declared("a.py", "class A:\n    def b(self): ...\n    def _c(self): ...\n") == {"A", "A.b"}


@pytest.mark.soak
def test_options_of_the_baseline_are_accepted():
    subcommands = documented(_baseline_text(PAGE))
    assert len(subcommands) > 10
    assert [text for name, options in subcommands.items() for text in rejected(name, options)] == []


def test_names_of_the_baseline_are_declared():
    count, missing = missing_names()
    assert count > 100
    assert missing == []

# SPDX-License-Identifier: Apache-2.0
"""Names that users rely on: options and API names of the baseline commit are still accepted.

The baseline is commit 503b3a67, the last before names were changed. Its names are stored, so the tests need no git
history: data/options_of_503b3a67.txt has the options of its docs/command-line.md by subcommand, and
data/names_of_503b3a67.txt what its public headers, Fortran modules and Python's array module declare.

Each option is passed to its subcommand with an option that does not exist, so that the call fails before it does
anything: the reply must not call the documented option unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT, run
from declared_names import declared

DATA = ROOT / "tests" / "python" / "data"
NAMES, OPTIONS = DATA / "names_of_503b3a67.txt", DATA / "options_of_503b3a67.txt"
UNKNOWN_OPTION = "--acceptance-unknown-option"
_NO_FILE = "/nonexistent"
# Arguments before and after the options: the first with which a subcommand reports the unknown option.
_SHAPES: tuple[tuple[list[str], list[str]], ...] = (
    ([], []),
    ([_NO_FILE], []),
    (["-o", _NO_FILE, _NO_FILE], []),
    ([], ["--", _NO_FILE]),
)


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


def stored_options(text: str) -> dict[str, list[Option]]:
    """Returns the options of each subcommand, from lines "SUBCOMMAND OPTION [VALUE]"; some have no option."""
    found: dict[str, list[Option]] = {}
    for line in text.splitlines():
        subcommand, dash, option = line.partition(" -")
        options = found.setdefault(subcommand, [])
        if dash:
            name, _, value = f"-{option}".partition(" ")
            options.append(Option(name, value == "VALUE"))
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


def missing_names(names: str, root: Path = ROOT) -> list[str]:
    """Returns those of the lines "PATH: NAME" whose name the file does not declare, or whose file is missing."""
    now: dict[str, set[str]] = {}
    for path in {line.partition(": ")[0] for line in names.splitlines()}:
        file = root / path
        now[path] = declared(path, file.read_text()) if file.is_file() else set()
    pairs = (line.partition(": ") for line in names.splitlines())
    return [f"{path}: {name}" for path, _, name in pairs if name not in now[path]]


# --- tests -------------------------------------------------------------------------------------------------------


def test_stored_options_names_and_values():
    assert stored_options("lab run --jobs VALUE\nlab run -q\nversion\n") == {
        "lab run": [Option("--jobs", True), Option("-q", False)],
        "version": [],
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
def test_unknown_option_reply_is_recognised(reply, name, expected):
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


HEADER = """
// terrace_gone(): no longer.
#define TERRACE_FLAG 1
#define TERRACE_CALL(x) \\
  mentioned(x, MENTIONED)
int terrace_alloc(size_t bytes);
typedef enum { TERRACE_FAST = 1 << 0, TERRACE_SLOW } terrace_kind;
typedef void (*terrace_hook)(int code);
struct Block; struct TERRACE_PUBLIC_API Other;
inline constexpr std::array<int, 2> k_sizes{1, 2};
namespace terrace::detail { void hidden() { if (true) {} } }
enum class Access : unsigned char { read, write };
template <class T, int N = f(3)>
class Set final : public Base<T> {
 public:
  explicit Set(int size) : size_{size}, other_(called(size)) { inner(size); }
  Set& operator=(const Set&) = delete;
  T operator()(int i) const { return at(i); }
  int first = 0, second{1};
  std::map<std::string, int> by_name{};
  using value_type = T;
 private:
  int size_, other_;
};
constexpr int k_last = call(MENTIONED);
"""


def test_declared_header_has_declarations_alone():
    assert declared("a.h", HEADER) == {
        *("TERRACE_FLAG", "TERRACE_CALL", "terrace_alloc", "TERRACE_FAST", "TERRACE_SLOW", "terrace_kind"),
        *("terrace_hook", "Block", "Other", "k_sizes", "k_last", "Access", "Access::read", "Access::write", "Set"),
        *("Set::Set", "Set::operator=", "Set::operator()", "Set::first", "Set::second", "Set::by_name"),
        "Set::value_type",
    }


def test_declared_names_are_read_from_fortran():
    text = """
module terrace
  public :: g, &
    h
  integer, parameter, public :: ok = 0, bad = 1
  interface both
    module procedure g
  end interface
  integer(c_int) function f(x)
  end function f
  ! subroutine gone
"""
    assert declared("a.f90", text) == {"terrace", "g", "h", "ok", "bad", "both", "f"}


def test_declared_names_are_read_from_python():
    text = "from typing import Any\nLIMIT = 3\n_own = 4\nclass A:\n    x: int\n"
    text += "    def b(self): ...\n    def _c(self): ...\n"
    assert declared("a.py", text) == {"LIMIT", "A", "A.x", "A.b"}


def test_missing_names_of_changed_and_missing_files(tmp_path):
    (tmp_path / "a.h").write_text("#define ALL k_old\nenum Kind { k_new };\n")
    names = "a.h: ALL\na.h: k_old\na.h: Kind\nb.h: gone\n"
    assert missing_names(names, tmp_path) == ["a.h: k_old", "b.h: gone"]


def test_options_of_the_baseline_are_accepted():
    subcommands = stored_options(OPTIONS.read_text())
    assert len(subcommands) > 10
    assert [text for name, options in subcommands.items() for text in rejected(name, options)] == []


def test_names_of_the_baseline_are_declared():
    names = NAMES.read_text()
    assert names.count("\n") > 400
    assert missing_names(names) == []

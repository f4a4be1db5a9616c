"""Tests of the criteria of readability, and of the draw of the reading test."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "acceptance"))

from readability_lines import reading_test, structure, user_names, warnings  # noqa: E402
from readability_lines.bare_system import Ended, _timed  # noqa: E402
from readability_lines.checks import MAX_SHOWN, none_of  # noqa: E402
from readability_lines.user_names import Option, declared, documented, is_unknown, rejected  # noqa: E402

PAGE = """\
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
    assert documented(PAGE) == {
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


def test_missing_names_of_this_tree_are_none():
    if subprocess.run(["git", "cat-file", "-e", user_names.BASELINE], cwd=ROOT, capture_output=True).returncode:
        pytest.skip("the clone lacks the baseline commit")
    count, missing = user_names.missing_names()
    assert count > 100
    assert missing == []


def test_none_of_shows_the_first_findings():
    measured = none_of([str(number) for number in range(MAX_SHOWN + 2)], "errors")
    assert not measured.holds
    assert measured.text.splitlines()[0] == f"{MAX_SHOWN + 2} errors"
    assert measured.text.endswith("and 2 more")
    assert none_of([], "errors").holds


def test_demo_packages_without_those_of_the_bare_system():
    text = "# packages\n[demo]  # of the demo\ng++\ncmake\nmake # x\n\n[test]\nclang\n"
    assert structure.demo_packages(text) == ["cmake"]


def test_modules_are_folders():
    assert all(module.is_dir() for module in structure.modules())


def test_warnings_of_every_kind_of_the_script():
    script = (ROOT / "scripts" / "warnings").read_text()
    assert all(f"  {kind})" in script for kind in warnings.KINDS)


@pytest.mark.parametrize(("status", "seconds", "holds"), [(0, 300, True), (0, 301, False), (1, 10, False)])
def test_timed_needs_success_in_time(status, seconds, holds):
    measured = _timed("make demo", Ended(status, seconds, "a\nlast\n\n"), 5)
    assert measured.holds == holds
    assert measured.text.endswith("\nlast")


# --- the reading test --------------------------------------------------------------------------------------------

HEADER = "// Stores sizes.\nnamespace terrace {\n// Returns the size of an entry.\nint size_of(int entry);\n}\n"
SOURCE = """\
namespace terrace {
namespace {
// Adds two numbers.
int add(int a, int b) {
  if (a == 0) {
    return b;
  }
  return a + b;
}
}  // namespace

struct Table {
  int rows(const char* text = "}") const noexcept {
    int count = 0;
    while (*text != 0) ++count;
    // a comment with a brace {
    return count;
  }
};

int size_of(int entry) {
  if (entry < 0) {
    throw Error(Code::invalid, "entry " + name + " is below zero; use at least " + std::to_string(0));
  }
  warn(fmt::format("the {} of {:.2f} is empty; "
                   "add an entry", a, b));
  return add(entry, 1);
}
}  // namespace terrace
"""
PYTHON = '''\
"""Reads things."""


class Reader:
    """Reads."""

    def read(self, path):
        """Returns the text."""
        if not path:
            raise ValueError(f"no file {path} was named here")
        text = path.read_text()
        return text
'''
WORDS = "word " * 50
TEXTS = {
    "src/a/table.cpp": SOURCE,
    "src/a/table.hpp": HEADER,
    "python/terrace/reader.py": PYTHON,
    "tests/a.cpp": SOURCE,
    "docs/page.md": f"# Page\n\n{WORDS}\n\n## Short\n\nNo.\n\n## Long\n\n```\n# no title\n```\n{WORDS}\n",
}


def test_functions_with_comment_declaration_and_owner():
    found = {item.name: item for item in reading_test.functions(TEXTS)}
    assert set(found) == {"add", "rows", "size_of", "read"}
    assert found["add"].text.startswith("// Adds two numbers.\nint add(")
    assert found["add"].text.endswith("return a + b;\n}\n")
    assert found["rows"].text.startswith("// In Table:\n")
    assert "// Returns the size of an entry.\nint size_of(int entry);\n" in found["size_of"].text
    assert found["read"].text.startswith("# In class Reader:\n")
    assert (found["size_of"].path, found["size_of"].line) == ("src/a/table.cpp", 21)


def test_messages_have_placeholders():
    assert sorted(item.text.strip() for item in reading_test.messages(TEXTS)) == [
        "entry {...} is below zero; use at least {...}",
        "no file {...} was named here",
        "the {...} of {...} is empty; add an entry",
    ]


def test_sections_are_long_and_below_their_page_title():
    page, long = reading_test.sections(TEXTS)
    assert (page.name, page.line) == ("Page", 1)
    assert (long.name, long.line) == ("Long", 9)
    assert long.text.startswith("# Page\n\n## Long\n")


def test_draw_same_seed_same_items():
    texts = {f"src/a/{number}.py": PYTHON for number in range(50)}
    counts = {"files": 5, "functions": 3, "sections": 2, "messages": 4}
    first = reading_test.draw(texts, "one", counts)
    assert first == reading_test.draw(texts, "one", counts)
    assert first != reading_test.draw(texts, "two", counts)
    assert {kind: len(items) for kind, items in first.items()} == {**counts, "sections": 0}


def test_write_reader_has_no_paths(tmp_path):
    drawn = reading_test.draw(TEXTS, "seed")
    reading_test.write(drawn, "seed", tmp_path)
    sheets = sorted(
        path.relative_to(tmp_path / "reader").as_posix() for path in (tmp_path / "reader").rglob("*.*")
    )
    key = json.loads((tmp_path / "key" / "key.json").read_text())
    assert [each["sheet"] for kind in reading_test.KINDS for each in key[kind]] == [
        sheet for kind in reading_test.KINDS for sheet in sheets if sheet.startswith(kind)
    ]
    reader = "".join(path.read_text() for path in (tmp_path / "reader").rglob("*.*"))
    assert "src/a/" not in reader
    assert "src/a/table.cpp" in (tmp_path / "key" / "key.md").read_text()
    assert (tmp_path / "reader" / "answers.md").read_text().count("\n- ") == len(sheets) - 1


def test_read_commit_has_sources_and_pages():
    texts = reading_test.read_commit("HEAD")
    assert "README.md" in texts
    assert "include/terrace/terrace.h" in texts
    assert not any(path.startswith("docs/results/") for path in texts)

"""The draw of the reading test, and the criterion of the first run on a bare system."""

import json

import pytest
from readability_lines import reading_test
from readability_lines.bare_system import Ended, _timed, judge_gains


@pytest.mark.parametrize(("status", "seconds", "holds"), [(0, 300, True), (0, 301, False), (1, 10, False)])
def test_timed_needs_success_in_time(status, seconds, holds):
    measured = _timed("make demo", Ended(status, seconds, "a\nlast\n\n"), 5)
    assert measured.holds == holds
    assert measured.text.endswith("\nlast")


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


def test_functions_with_comment_declaration_owner_and_uses():
    found = {item.name: item for item in reading_test.functions(TEXTS)}
    assert set(found) == {"add", "rows", "size_of", "read"}
    assert found["add"].text.startswith("// --- the function ---\n// Adds two numbers.\nint add(")
    assert found["add"].text.endswith("}\n// --- used in this file ---\n27: return add(entry, 1);\n")
    assert found["rows"].text.startswith("// --- the function ---\n// In Table:\n")
    assert "// Returns the size of an entry.\nint size_of(int entry);\n" in found["size_of"].text
    head = '# --- head of the file ---\n"""Reads things."""\n'
    assert found["read"].text.startswith(f"{head}# --- the function ---\n# In class Reader:\n")
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


DEMO_ROW = {"ratio": "half", "slow_only_s": 3.0, "managed_s": 2.0, "fast_only_s": 1.0, "lower_bound_s": 1.95}


@pytest.mark.parametrize(
    ("paging", "changed", "holds"),
    [
        ({"speedup": 2.0}, {}, True),
        (None, {}, True),
        ({"speedup": 1.9}, {}, False),
        ({"speedup": 2.0}, {"lower_bound_s": 1.9}, False),
        ({"speedup": 2.0}, {"managed_s": 2.1, "lower_bound_s": 2.1}, False),
    ],
)
def test_judge_gains_requires_speed_bound_and_distance(paging, changed, holds):
    quarter = DEMO_ROW | {"ratio": "quarter", "managed_s": 3.0}
    assert judge_gains({"paging": paging, "rows": [quarter, DEMO_ROW | changed]}).holds == holds

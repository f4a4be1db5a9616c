"""scripts/words.py: which words it reports in sources, Python files and pages."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
import words  # noqa: E402

# In two parts, so that checks of this tree find no such name.
LIMIT, CONSTANT = "k_" + "most_pages", "LEAST_" + "SHARE"
ONLY_REFERS = "only refers to a header: say what the file implements, and who uses it"


def found(name: str, text: str, defined: frozenset[str] = frozenset()) -> list[str]:
    return [line.split(": ", 1)[1] for line in words.findings(ROOT / name, text, set(defined))]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("src/a.cpp", "// Returns the size.\nint size();\n", []),
        ("src/a.cpp", "// Of the threads that have none.\nint x;\n", ["begins with 'Of'"]),
        ("src/a.cpp", "int x;  // What is left\n", ["begins with 'What'"]),
        ("src/a.cpp", "// Waits, as the caller does, for\n// Of course nothing else.\n", []),
        ("src/a.cpp", "// Wakes whoever waits.\n", ["'whoever': name the subject"]),
        ("src/a.cpp", 'const char* url = "http://who";\n', []),
        ("src/a.cpp", f"constexpr int {LIMIT} = 3;\n", [f"'{LIMIT}': say max or min"]),
        ("src/a.cpp", f"int {LIMIT} = k_max_pages;  // former name\n", []),
        ("src/a.cpp", f"int {LIMIT} = k_max_rows;  // former name\n", [f"'{LIMIT}': say max or min"]),
        ("src/a.cpp", "// SPDX-License-Identifier: Apache-2.0\n// See a.hpp.\nint x;\n", [ONLY_REFERS]),
        ("src/a.cpp", "// Implements sim/a.hpp\n#include <a>\n", [ONLY_REFERS]),
        ("src/a.cpp", "// Parses sizes. See a.hpp.\nint x;\n// See b.hpp.\n", []),
        ("python/a.py", '"""Who decides."""\n', ["begins with 'Who'", "'Who': name the subject"]),
        ("python/a.py", "x = 1  # nobody reads it\n", ["'nobody': name the subject"]),
        ("python/a.py", f"{CONSTANT} = 2\n", [f"'{CONSTANT}': say max or min"]),
        ("cmake/a.cmake", "# Returns a verb.\n", ["'verb': say subcommand"]),
        ("docs/a.md", "Who measures.\n\n```\nwho\n```\n`who`\n", ["'Who': name the subject"]),
    ],
)
def test_forbidden_words_are_reported(name, text, expected):
    assert found(name, text) == expected


def test_term_of_the_glossary_is_allowed():
    text = "// Returns the stretch.\n"
    assert found("src/a.cpp", text) == ["'stretch': say segment, interval, extent"]
    assert found("src/a.cpp", text, frozenset({"stretch"})) == []

# SPDX-License-Identifier: Apache-2.0
"""Checks the words of comments, names, pages and commits against the style of CONTRIBUTING.md.

Reported are: comments and docstrings that begin without a verb or a subject ("Of", "What", "Who", ...);
words that hide who acts ("who", "whoever", "nobody", "somebody"); private terms where the field has a standard one
and docs/glossary.md has no entry; names of limits that say most or least; head comments of C++ files that only
refer to a header; commit subjects of over 72 characters on the branch. scripts/words.toml states how many findings
each folder may have: a folder with more fails, and so does one with fewer, until its number is lowered.
`make lint` and pre-commit run it; `--list FOLDER` prints the findings.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "scripts" / "words.toml"
MAX_SUBJECT = 72
# Published results and generated pages are not written by hand; licences, saved inputs and former names are given.
SKIPPED = re.compile(
    r"^(docs/results/|docs/reference/command-line\.md|share/|acceptance/others_programs/|LICENSE|.*/topologies/"
    r"|tests/python/data/names_of_\w+\.txt)"
)

BEGINNING = re.compile(
    r"^(Of|The same|What|Who|Whose|False|True|None|By|Nobody|Somebody|Whoever|Everybody|From the one)\b(?!::|\()"
)
AGENTS = re.compile(r"\b(whoever|nobody|somebody|everybody|who)\b(?!-)", re.IGNORECASE)
# Private term: the field's. A term that docs/glossary.md defines is allowed.
TERMS = {
    r"by turns": "interleaved",
    r"beside the program": "in the background",
    r"hears? of|heard of": "is notified of",
    r"hasten(s|ed)?": "expedite",
    r"foresight|foreseen?": "prediction, prefetch",
    r"leftovers?": "unplanned chunks",
    r"stretch(es)?": "segment, interval, extent",
    r"front doors?|doors?": "API, adapter, interposer",
    r"rooms": "modules",
    r"(?<!/)verbs?(?!/)": "subcommand",
    r"on (the|no) account": "charged, accounted",
    r"for want of": "without",
    r"left out": "skipped, unobserved",
    r"turns of (a|the|its) loop|loop's turns?": "iterations",
}
# Head comment of a C++ file that says nothing of the file itself: "See x.hpp.", "Implements x.hpp.".
REFERENCE = re.compile(r"(?:See|Implements|Implementation of) [\w./-]+\.(?:hpp|h|cuh)\.?")
NAMES = re.compile(r"\bk_(?:most|least)(?:_\w+)?\b|\b_?(?:MOST|LEAST)_[A-Z_]+\b")
# Line of an alias that keeps a former public name, because users' programs may contain it.
FORMER_NAME = re.compile(r"\bk_(?:most|least)_(\w+) = k_(?:max|min)_\1;  // former name$")
COMMENT = {
    **dict.fromkeys((".cpp", ".hpp", ".c", ".h", ".cu"), "//"),
    **dict.fromkeys((".cmake", ".sh", ".toml", ".txt"), "#"),
}


def comments(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield each comment or docstring of a source with its line, a block at a time; pages line by line."""
    if path.suffix == ".py" or (not path.suffix and text.startswith("#!/usr/bin/env python")):
        yield from _python_comments(text)
    elif path.suffix == ".md":
        prose = re.sub(
            r"^```.*?^```", lambda match: re.sub(r"[^\n]", "", match[0]), text, flags=re.DOTALL | re.MULTILINE
        )
        for number, line in enumerate(prose.splitlines(), 1):
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
    elif path.suffix in COMMENT or text.startswith("#!"):
        yield from _line_comments(text, COMMENT.get(path.suffix, "#"))


def _line_comments(text: str, mark: str) -> Iterator[tuple[int, str]]:
    """Yields the comments of a source whose comments begin with `mark`, a block of lines at a time."""
    block: list[str] = []
    begin = 0
    own_line = re.compile(rf"^\s*{re.escape(mark)}+ ?(.*)$")
    trailing = re.compile(rf'^[^"\']*\S\s+{re.escape(mark)}+ ?(.*)$')
    for number, line in enumerate(text.splitlines(), 1):
        match = own_line.match(line)
        if match and not line.startswith("#!") and "SPDX-License" not in line:
            if not block:
                begin = number
            block.append(match[1])
            continue
        if block:
            yield begin, "\n".join(block)
            block = []
        if beside := trailing.match(line):
            yield number, beside[1]
    if block:
        yield begin, "\n".join(block)


def _python_comments(text: str) -> Iterator[tuple[int, str]]:
    try:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                about = ast.get_docstring(node)
                if about:
                    yield getattr(node.body[0], "lineno", 1), about
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
                yield token.start[0], token.string.lstrip("# ")
    except (SyntaxError, tokenize.TokenError):
        return


def glossary() -> set[str]:
    """Return the terms that docs/glossary.md defines: its bold words at the beginning of a line."""
    page = ROOT / "docs" / "glossary.md"
    text = page.read_text() if page.is_file() else ""
    return {term.lower() for term in re.findall(r"^(?:\| *)?\*\*([^*]+)\*\*", text, re.MULTILINE)}


def findings(path: Path, text: str, defined: set[str]) -> Iterator[str]:
    """Yield what is wrong in a file, a line each."""
    is_page = path.suffix == ".md"
    name = path.relative_to(ROOT)
    is_head = path.suffix in (".cpp", ".hpp", ".c", ".h", ".cu")
    for number, comment in comments(path, text):
        if is_head and REFERENCE.fullmatch(comment.strip()):
            yield f"{name}:{number}: only refers to a header: say what the file implements, and who uses it"
        is_head = False
        if not is_page and (match := BEGINNING.match(comment)):
            yield f"{name}:{number}: begins with '{match[0]}'"
        for match in AGENTS.finditer(comment):
            yield f"{name}:{number}: '{match[0]}': name the subject"
        for term, standard in TERMS.items():
            for match in re.finditer(rf"\b(?:{term})\b", comment, re.IGNORECASE):
                if match[0].lower() not in defined:
                    yield f"{name}:{number}: '{match[0]}': say {standard}"
    if not is_page:
        for number, line in enumerate(text.splitlines(), 1):
            for match in NAMES.finditer("" if FORMER_NAME.search(line) else line):
                yield f"{name}:{number}: '{match[0]}': say max or min"


def folder_of(name: str) -> str:
    """Return the folder by which findings are counted: two levels under src, one elsewhere."""
    parts = Path(name).parts
    depth = 3 if parts[:2] in (("src", "foundation"), ("src", "tiering")) else 2
    depth = depth if parts[0] in ("src", "tests", "python") else 1
    return "/".join(parts[: min(depth, len(parts) - 1)]) or "."


def long_subjects() -> list[str]:
    """Return subjects of commits that the upstream branch lacks and that are too long."""
    done = subprocess.run(
        ["git", "log", "--format=%h %s", "origin/main..HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    subjects = [line.partition(" ") for line in done.stdout.splitlines()]
    return [
        f"{commit}: subject of {len(text)} characters" for commit, _, text in subjects if len(text) > MAX_SUBJECT
    ]


def main() -> int:
    """Print folders whose number of findings differs from what is allowed, or the findings of one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", metavar="FOLDER", help="print the findings of files whose path begins so")
    parser.add_argument("--write", action="store_true", help="write the present numbers into scripts/words.toml")
    wanted = parser.parse_args()
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    defined, counts = glossary(), Counter[str]()
    for name in filter(None, tracked.split("\0")):
        path = ROOT / name
        if SKIPPED.match(name) or name == "scripts/words.py" or not path.is_file() or path.is_symlink():
            continue
        if wanted.list is not None and not name.startswith(wanted.list):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found = list(findings(path, text, defined))
        counts[folder_of(name)] += len(found)
        if wanted.list is not None:
            print("\n".join(found), end="\n" if found else "")
    if wanted.list is not None:
        return 0
    counts = +counts
    if wanted.write:
        lines = [f'"{folder}" = {count}\n' for folder, count in sorted(counts.items())]
        ALLOWED.write_text("# Findings of scripts/words.py that each folder may still have.\n" + "".join(lines))
        return 0
    allowed = tomllib.loads(ALLOWED.read_text())
    wrong = [
        f"{folder}: {counts[folder]} findings, scripts/words.toml allows {allowed.get(folder, 0)}; "
        f"scripts/words.py --list {folder} prints them"
        for folder in sorted({*counts, *allowed})
        if counts[folder] != allowed.get(folder, 0)
    ]
    wrong += long_subjects()
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

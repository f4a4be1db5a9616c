# SPDX-License-Identifier: Apache-2.0
"""Draws the sheets of the reading test: source files, functions, sections and messages of a commit. Run by hand;
outside readers answer what each sheet is for.

    python acceptance/readability_lines/reading_test.py [--commit COMMIT] [--output FOLDER]

A generator seeded with the commit's hash draws the items, so that anyone can repeat the draw, and mending (a new
commit) draws others. Two folders are written:

    reader/   a numbered sheet for each item, without its path, and answers.md: one sentence for each sheet
    key/      key.md and key.json: the path, line and name of each item, by which a judge compares with the code

Tests, workloads, saved inputs and generated pages are not drawn. Files of fewer than 10 lines, functions of fewer
than 6, sections of fewer than 40 words and messages of fewer than 5 are omitted: they have too little to
misunderstand.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "include", "python", "scripts", "tools", "acceptance", "bench", "examples")
CPP = (".cpp", ".hpp", ".c", ".h")
SOURCES = (*CPP, ".py", ".f90", ".F90")
SKIPPED = re.compile(r"^(acceptance/others_programs/|docs/(results/|reference/command-line\.md))|/__init__\.py$")
MIN_FILE_LINES, MIN_FUNCTION_LINES, MIN_SECTION_WORDS, MIN_MESSAGE_WORDS = 10, 6, 40, 5
COUNTS = {"files": 60, "functions": 30, "sections": 20, "messages": 15}
TASKS = {
    "files": "what is the file for, and who calls it?",
    "functions": "what does the function do, and who calls it?",
    "sections": "what does the section tell its reader, and when does one need it?",
    "messages": "what has happened, and what can the user do?",
}
PLACEHOLDER = "{...}"  # of a value in a message

Files = Mapping[str, str]  # text by path


@dataclass(frozen=True)
class Item:
    """A thing to be read: the text of its sheet, and its origin."""

    path: str
    line: int
    name: str
    text: str
    suffix: str  # of the sheet's file


# --- files -------------------------------------------------------------------------------------------------------


def read_commit(commit: str, root: Path = ROOT) -> dict[str, str]:
    """Returns the text files of a commit by path, without those that are skipped."""
    listed = _git(root, "ls-tree", "-r", "-z", commit).decode().split("\0")
    entries = [entry.split(None, 3) for entry in listed if entry]
    regular = {
        path: blob for mode, _, blob, path in entries if mode.startswith("100") and not SKIPPED.search(path)
    }
    wanted = {path: blob for path, blob in regular.items() if path.endswith((*SOURCES, ".md"))}
    request = "".join(f"{blob}\n" for blob in wanted.values()).encode()
    output, begin, texts = _git(root, "cat-file", "--batch", data=request), 0, {}
    for path in wanted:
        head = output.index(b"\n", begin)
        size = int(output[begin:head].split()[2])
        texts[path] = output[head + 1 : head + 1 + size].decode(errors="replace")
        begin = head + size + 2
    return texts


def _git(root: Path, *words: str, data: bytes | None = None) -> bytes:
    return subprocess.run(["git", *words], cwd=root, input=data, stdout=subprocess.PIPE, check=True).stdout


def _sources(texts: Files) -> Iterator[tuple[str, str]]:
    for path, text in texts.items():
        if path.startswith(tuple(f"{folder}/" for folder in FOLDERS)) and path.endswith(SOURCES):
            yield path, text


def files(texts: Files) -> list[Item]:
    """Returns the source files that are long enough for a sheet."""
    return [
        Item(path, 1, Path(path).name, text, Path(path).suffix)
        for path, text in _sources(texts)
        if text.count("\n") >= MIN_FILE_LINES
    ]


# --- functions ---------------------------------------------------------------------------------------------------

_IGNORED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n[^\n]*)*$",
    re.DOTALL | re.MULTILINE,
)
_SCOPE = re.compile(r"\b(?:namespace(?:\s+[\w:]+)?|(?:class|struct|union)\s+(?P<type>\w+)?[^()]*|extern)\s*$")
_FUNCTION = re.compile(
    r"(?P<name>~?[A-Za-z_][\w:]*)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    r"\s*(?:const|noexcept|override|final|&|\s)*(?:->[^{}]*)?(?:requires[^{}]*)?$"
)


def functions(texts: Files) -> list[Item]:
    """Returns the functions with a body, each with its comment, the declaration in a header of the same name, the
    head comment of its file, and the lines of the file that use it."""
    found: list[Item] = []
    for path, text in _sources(texts):
        if path.endswith(".py"):
            items = _python_functions(path, text)
        elif path.endswith(CPP):
            items = _cpp_functions(path, text, texts.get(f"{path.rpartition('.')[0]}.hpp", ""))
        else:
            continue
        found += [replace(item, text=_in_file(item, text)) for item in items]
    return found


def _in_file(item: Item, text: str) -> str:
    """Returns a function's sheet: what a reader of its file sees of it at first sight."""
    mark = "#" if item.suffix == ".py" else "//"
    if item.suffix == ".py":
        head = f'"""{ast.get_docstring(ast.parse(text)) or ""}"""\n'
    else:
        lines = [line for line in text.splitlines() if "SPDX" not in line]
        head = "\n".join(itertools.takewhile(lambda line: line.startswith("//"), lines)) + "\n"
    name = re.compile(rf"\b{re.escape(item.name.rpartition('::')[2])}\b\s*[](){{}}<,;]")
    body = set(item.text.splitlines())
    uses = [
        f"{number}: {line.strip()}"
        for number, line in enumerate(text.splitlines(), 1)
        if name.search(line) and line not in body
    ]
    below = f"{mark} --- used in this file ---\n" + "\n".join(uses) + "\n" if uses else ""
    above = f"{mark} --- head of the file ---\n{head}" if head.strip() else ""
    return f"{above}{mark} --- the function ---\n{item.text}{below}"


def _python_functions(path: str, text: str) -> Iterator[Item]:
    """Yields the functions of a Python file that are long enough for a sheet."""
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    classes = {
        id(node): f"# In class {each.name}:\n"
        for each in ast.walk(tree)
        if isinstance(each, ast.ClassDef)
        for node in each.body
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if node.end_lineno - first + 1 >= MIN_FUNCTION_LINES:
                body = "".join(lines[first - 1 : node.end_lineno])
                yield Item(path, first, node.name, classes.get(id(node), "") + body, ".py")


def _cpp_functions(path: str, text: str, header: str) -> Iterator[Item]:
    """Yields the functions of a C++ file that are long enough, with their comments, found by matching braces."""
    blank = _IGNORED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    lines = text.splitlines(keepends=True)
    begin = 0  # of the head before a brace
    depth = 0  # of braces that are neither namespaces nor types
    scopes: list[str | None] = []  # each open brace: the name of a type, "" of a namespace, None of all others
    function: tuple[str, int] | None = None  # name and offset of the function that is open
    for match in re.finditer(r"[{};]", blank):
        head, start = blank[begin : match.start()], begin
        begin = match.end()
        if match[0] == "{":
            scope = _SCOPE.search(head) if depth == 0 else None
            if depth == 0 and scope is None and (found := _FUNCTION.search(head)):
                indent = len(head) - len(head.lstrip())
                function = (found["name"], start + indent)
            scopes.append(None if scope is None else scope["type"] or "")
            depth += scope is None
        elif match[0] == "}" and scopes:
            depth -= scopes.pop() is None
            if depth == 0 and function is not None:
                name, offset = function
                function = None
                first, last = text.count("\n", 0, offset), text.count("\n", 0, match.start())
                if last - first + 1 >= MIN_FUNCTION_LINES:
                    body = "".join(lines[_comment_begin(lines, first) : last + 1])
                    owner = f"// In {scopes[-1]}:\n" if scopes and scopes[-1] else ""
                    yield Item(
                        path, first + 1, name, owner + _declaration(name, path, header) + body, Path(path).suffix
                    )


def _comment_begin(lines: list[str], line: int) -> int:
    """Returns the index of the first line of the comment that ends above a line, or that line's index."""
    while line > 0 and lines[line - 1].lstrip().startswith("//"):
        line -= 1
    return line


def _declaration(name: str, path: str, header: str) -> str:
    """Returns a function's declaration in the header with its comment, or nothing."""
    if path.endswith((".hpp", ".h")):
        return ""
    lines = header.splitlines(keepends=True)
    call = re.compile(rf"\b{re.escape(name.rpartition('::')[2])}\(")
    for number, line in enumerate(lines):
        if call.search(line) and not line.lstrip().startswith("//"):
            last = number
            while last + 1 < len(lines) and not re.search(r"[;{]\s*(//.*)?$", lines[last]):
                last += 1
            declared = "".join(lines[_comment_begin(lines, number) : last + 1])
            return f"// --- declaration ---\n{declared}\n// --- definition ---\n"
    return ""


# --- sections of documentation -----------------------------------------------------------------------------------


def sections(texts: Files) -> list[Item]:
    """Returns the sections of pages, each below the title of its page."""
    found: list[Item] = []
    for path, text in texts.items():
        if path.endswith(".md") and re.match(
            r"(README|CONTRIBUTING|SECURITY)\.md$|docs/|(src|python|examples)/", path
        ):
            found += _sections(path, text)
    return found


def _sections(path: str, text: str) -> Iterator[Item]:
    """Yields the sections of a page that are long enough, each below the page's title."""
    lines = text.splitlines(keepends=True)
    starts, is_code, title = [], False, ""
    for number, line in enumerate(lines):
        is_code ^= line.startswith("```")
        if not is_code and (match := re.match(r"(#{1,4}) (.+)", line)):
            if match[1] == "#":
                title = title or line
            starts.append((number, match[2].strip(), match[1] == "#"))
    ends = [*(number for number, _, _ in starts[1:]), len(lines)]
    for (number, name, is_title), end in zip(starts, ends, strict=True):
        section = "".join(lines[number:end])
        if len(section.split()) >= MIN_SECTION_WORDS:
            yield Item(path, number + 1, name, section if is_title else f"{title}\n{section}", ".md")


# --- messages ----------------------------------------------------------------------------------------------------

_LITERAL = r'"(?:\\.|[^"\\\n])*"'
_STATEMENT = re.compile(
    rf"\b(?:throw\b|return\s+fail\(|fail\(|warn\w*\(|say_once\()(?:{_LITERAL}|//[^\n]*|[^;\"])*;", re.MULTILINE
)
_PYTHON_CALLS = ("warn", "fail", "_fail")


def messages(texts: Files) -> list[Item]:
    """Returns the texts of errors and warnings of the product, with values replaced by a placeholder."""
    found = []
    for path, text in _sources(texts):
        if not path.startswith(("src/", "include/", "python/")):
            continue
        if path.endswith(".py"):
            candidates = list(_python_messages(text))
        else:
            candidates = [
                (text.count("\n", 0, match.start()) + 1, _literals(match[0]))
                for match in _STATEMENT.finditer(text)
            ]
        for line, message in candidates:
            if len(message.replace(PLACEHOLDER, "").split()) >= MIN_MESSAGE_WORDS:
                found.append(Item(path, line, message[:60], f"{message}\n", ".txt"))
    return found


def _literals(statement: str) -> str:
    """Returns the string literals of a C++ statement; a placeholder stands for each expression that is added."""
    pieces: list[str] = []
    end: int | None = None
    for match in re.finditer(rf"{_LITERAL}|//[^\n]*", statement):
        if match[0].startswith("//"):
            continue
        between = statement[end : match.start()].strip()
        if between and (end is not None or between.endswith("+")):
            pieces.append(PLACEHOLDER)
        pieces.append(_unescaped(match[0][1:-1]))
        end = match.end()
    if end is not None and statement[end:].lstrip().startswith("+"):
        pieces.append(PLACEHOLDER)
    return re.sub(r"\{(?!\.\.\.)[^{} ]*\}", PLACEHOLDER, "".join(pieces))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text)


def _python_messages(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        if isinstance(node, ast.Raise) or (isinstance(call.func, ast.Name) and call.func.id in _PYTHON_CALLS):
            yield call.lineno, _python_text(call.args[0])


def _python_text(node: ast.expr) -> str:
    """Returns the text of a string expression, with a placeholder for each computed part."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_python_text(value) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _python_text(node.left) + _python_text(node.right)
    return PLACEHOLDER


# --- the sheets --------------------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[Files], list[Item]]] = {
    "files": files,
    "functions": functions,
    "sections": sections,
    "messages": messages,
}


def draw(texts: Files, seed: str, counts: Mapping[str, int] = COUNTS) -> dict[str, list[Item]]:
    """Returns the drawn items by kind. Each kind has a generator of its own, so that the number of one does not
    change the others."""
    drawn = {}
    for kind, find in KINDS.items():
        items = sorted(find(texts), key=lambda item: (item.path, item.line, item.text))
        drawn[kind] = random.Random(f"{seed} {kind}").sample(items, min(counts[kind], len(items)))
    return drawn


def write(drawn: Mapping[str, list[Item]], commit: str, folder: Path) -> None:
    """Writes the reader's and the judge's folder."""
    reader, key = folder / "reader", folder / "key"
    answers = [
        "# Answers\n\nRead each sheet by itself, without the repository; write one sentence within ten seconds, "
        'or "cannot tell".\n'
    ]
    table = [f"# Key of commit {commit}\n"]
    document: dict[str, list[dict[str, object]]] = {}
    for kind, items in drawn.items():
        (reader / kind).mkdir(parents=True)
        answers.append(f"\n## {kind.capitalize()}: {TASKS[kind]}\n\n")
        table.append(f"\n## {kind.capitalize()}\n\n| sheet | origin | name | right, wrong, cannot tell |\n")
        table.append("| --- | --- | --- | --- |\n")
        document[kind] = []
        for number, item in enumerate(items, 1):
            sheet = f"{kind}/{number:02}{item.suffix}"
            (reader / sheet).write_text(item.text, encoding="utf-8")
            answers.append(f"- {kind} {number:02}: \n")
            name = re.sub(r"\s+", " ", item.name).replace("|", "\\|")
            table.append(f"| {number:02} | {item.path}:{item.line} | {name} | |\n")
            document[kind].append({"sheet": sheet, **{k: v for k, v in asdict(item).items() if k != "text"}})
    (reader / "answers.md").write_text("".join(answers), encoding="utf-8")
    key.mkdir()
    (key / "key.md").write_text("".join(table), encoding="utf-8")
    text = json.dumps({"commit": commit, **document}, indent=1, ensure_ascii=False)
    (key / "key.json").write_text(f"{text}\n", encoding="utf-8")


def main() -> int:
    """Draws and writes the sheets of a commit; replaces those of an earlier call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="HEAD", help="default: HEAD")
    parser.add_argument("--output", type=Path, help="folder; default: out/reading-test/COMMIT")
    for kind, count in COUNTS.items():
        parser.add_argument(f"--{kind}", type=int, default=count, metavar="N", help=f"default: {count}")
    arguments = parser.parse_args()
    commit = _git(ROOT, "rev-parse", "--verify", f"{arguments.commit}^{{commit}}").decode().strip()
    folder = arguments.output or ROOT / "out" / "reading-test" / commit[:12]
    for part in ("reader", "key"):
        shutil.rmtree(folder / part, ignore_errors=True)
    drawn = draw(read_commit(commit), commit, {kind: getattr(arguments, kind) for kind in COUNTS})
    write(drawn, commit, folder)
    print(", ".join(f"{len(items)} {kind}" for kind, items in drawn.items()), f"in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

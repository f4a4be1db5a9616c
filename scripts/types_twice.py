# SPDX-License-Identifier: Apache-2.0
"""Lists C++ types that several files define under one qualified name, which breaks the one-definition rule.

Reads src/, include/ and python/bindings. Types in anonymous namespaces, and local ones, have no linkage and do not
count; nor do specialisations of templates. `make lint` runs it. Exit status 1 if there is any.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include", "python/bindings")
# Comments and literals, which may hold braces and keywords.
IGNORED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
TYPE = re.compile(
    r"(?:^|[;{}>]|\btypedef\b)\s*(?:template\s*<[^;{}]*>\s*)?(?:typedef\s+)?(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
    r"(?:alignas\s*\([^)]*\)\s*|\[\[[^\]]*\]\]\s*|__attribute__\s*\(\(.*?\)\)\s*)*(?P<name>[A-Za-z_][\w:]*)\s*(?:final\s*)?(?::(?!:)[^;{}]*)?$",
    re.DOTALL,
)
NAMESPACE = re.compile(r"\bnamespace\s*(?P<name>[\w:]*)\s*$")


def types(text: str) -> set[str]:
    """Return the qualified names of the types with linkage that a file defines."""
    text = IGNORED.sub(" ", text)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n[^\n]*)*$", " ", text, flags=re.MULTILINE)
    found: set[str] = set()
    scopes: list[
        str | None
    ] = []  # a name; "" for extern "C"; None where names have no linkage or are not types' scopes
    begin = 0
    for match in re.finditer(r"[{};]", text):
        head = text[begin : match.start()]
        begin = match.end()
        if match[0] == "}":
            if scopes:
                scopes.pop()
        elif match[0] == "{":
            space, kind = NAMESPACE.search(head), TYPE.search(f";{head}")
            if space:
                scopes.append(space["name"] or None)
            elif re.search(r"\bextern\s*$", head):
                scopes.append("")
            elif kind:
                if None not in scopes:
                    found.add("::".join([*(scope for scope in scopes if scope), kind["name"]]))
                scopes.append(kind["name"])
            else:
                scopes.append(None)
    return found


def main() -> int:
    """Print each type with the files that define it."""
    files: dict[str, list[str]] = defaultdict(list)
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.[ch]pp")):
            for name in types(file.read_text(errors="replace")):
                files[name].append(str(file.relative_to(ROOT)))
    twice = {name: where for name, where in files.items() if len(where) > 1}
    for name, where in sorted(twice.items()):
        print(f"{name} is defined in {', '.join(where)}")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())

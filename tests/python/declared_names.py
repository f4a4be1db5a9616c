# SPDX-License-Identifier: Apache-2.0
"""Parses the public names that headers, Fortran modules and Python modules declare, for test_user_names.py.

C and C++: functions, types, members, enumerators, variables and macros. Ignored are private sections, namespaces
named detail, function bodies and the text of macros. Members are Class::name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

FORTRAN = (".f90", ".F90", ".inc")
_OPEN, _CLOSE = "([{", ")]}"
_SKIPPED_STATEMENTS = {"friend", "static_assert", "_Static_assert"}


def declared(path: str, text: str) -> set[str]:
    """Returns the public names that a file declares; its kind follows from its path."""
    if path.endswith((".py", ".pyi")):
        return set(_python_names(ast.parse(text)))
    if path.endswith(FORTRAN):
        return set(_fortran_names(text))
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.DOTALL)
    directive = r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*"
    macros = [re.match(r"\s*#\s*define\s+(\w+)", each) for each in re.findall(directive, text, re.MULTILINE)]
    text = re.sub(directive, "", text, flags=re.MULTILINE)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?|\[\[.*?\]\]", " ", text, flags=re.DOTALL)
    tokens = re.findall(r"\w+|::|->|\S", text)
    return {*(macro[1] for macro in macros if macro), *_cpp_names(tokens, 0, len(tokens), "")}


def _end_of_group(tokens: list[str], begin: int) -> int:
    """Returns the index after the bracket that closes the one at `begin`."""
    depth = 0
    for at in range(begin, len(tokens)):
        depth += (tokens[at] in _OPEN) - (tokens[at] in _CLOSE)
        if depth == 0:
            return at + 1
    return len(tokens)


def _without_template(words: list[str]) -> list[str]:
    """Returns a declaration without its `template <...>`."""
    while words[:1] == ["template"]:
        depth, at = 0, 1
        while at < len(words):
            depth += (words[at] == "<") - (words[at] == ">")
            at += 1
            if depth == 0:
                break
        words = words[at:]
    return words


def _is_initialised(words: list[str]) -> bool:
    header = _without_template(words)
    return "=" in header and "operator" not in header


def _cpp_names(tokens: list[str], at: int, end: int, scope: str, is_public: bool = True) -> Iterator[str]:
    """Yields the names that tokens [at, end) declare; `scope` is the class with "::", or empty."""
    words: list[str] = []  # of the declaration so far; groups of brackets are shortened to the brackets
    while at < end:
        token = tokens[at]
        if token == ":" and words in (["public"], ["private"], ["protected"]):
            is_public, words = words == ["public"], []
        elif token == ";":
            if is_public:
                yield from (scope + name for name in _names_of(_without_template(words)))
            words = []
        elif token in "([" or (token == "{" and _is_initialised(words)):
            group = _end_of_group(tokens, at)
            # A pointer to a function keeps its name: (*name).
            inner = tokens[at + 1 : group - 1] if tokens[at + 1] == "*" else []
            words += [token, *inner, tokens[group - 1]]
            at = group
            continue
        elif token == "{":
            group = _end_of_group(tokens, at)
            header = _without_template(words)
            keyword = next(
                (word for word in header if word in ("namespace", "enum", "class", "struct", "union")), ""
            )
            if "(" not in header and (keyword or header == ["extern"]):
                name = _type_name(header, keyword)
                if keyword == "namespace" or not keyword:
                    if "detail" not in header:
                        yield from _cpp_names(tokens, at + 1, group - 1, scope)
                    words = []
                else:
                    if is_public:
                        if name:
                            yield scope + name
                        yield from _members(tokens, at + 1, group - 1, scope, name, keyword, "class" in header)
                    # Declarators may follow: a typedef's name, or a variable.
                    words = ["typedef"] if header[0] == "typedef" else ["_"]
            elif "(" in header or "operator" in header:
                words += ["{", "}"]
                if tokens[group : group + 1] not in ([","], ["{"], [";"]):  # the body, not a member's initialiser
                    if is_public and header[:1] != ["requires"]:
                        yield from (scope + each for each in _names_of(header))
                    words = []
            else:
                words += ["{", "}"]
            at = group
            continue
        else:
            words.append(token)
        at += 1


def _type_name(header: list[str], keyword: str) -> str:
    """Returns the name of a type before its body: the word after the keywords; empty if it has none."""
    rest = header[header.index(keyword) + 1 :] if keyword else []
    names = [word for word in rest[: rest.index(":")] if word != "class"] if ":" in rest else rest
    names = [word for word in names if re.match(r"[A-Za-z_]", word) and word not in ("class", "struct", "final")]
    # Macros of visibility stand between keyword and name.
    names = [word for word in names if not re.fullmatch(r"TERRACE_\w*PUBLIC", word)]
    return names[0] if names else ""


def _members(
    tokens: list[str], at: int, end: int, scope: str, name: str, keyword: str, is_class: bool
) -> Iterator[str]:
    """Yields enumerators, or the public members of a class. Enumerators of `enum class` have its name before."""
    inner = f"{scope}{name}::" if name else scope
    if keyword != "enum":
        yield from _cpp_names(tokens, at, end, inner, keyword != "class")
        return
    begins = True
    while at < end:
        if tokens[at] in _OPEN:
            at = _end_of_group(tokens, at)
            continue
        if begins:
            yield (inner if is_class else scope) + tokens[at]
        begins = tokens[at] == ","
        at += 1


def _names_of(words: list[str]) -> Iterator[str]:
    """Yields the names of a declaration without a body: of a function, an alias, a typedef, or variables."""
    if len(words) < 2 or words[0] in _SKIPPED_STATEMENTS:
        return
    if "operator" in words:
        at = words.index("operator")
        paren = words.index("(", at + 3 if words[at + 1 : at + 2] == ["("] else at + 1)
        yield "".join(words[at:paren])
    elif words[0] == "using":
        yield words[1] if "=" in words else words[-1]
    elif words[0] == "concept":
        yield words[1]
    elif words[0] == "typedef":
        pointer = re.search(r"\( \* (\w+)", " ".join(words))
        yield pointer[1] if pointer else next(_variables(words), words[-1])
    else:
        yield from _variables(words)


def _variables(words: list[str]) -> Iterator[str]:
    """Yields the declared function, or each of the variables that commas separate."""
    depth, name, is_named = 0, "", False
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in "<([{" and not (word == "<" and is_named):
            if depth == 0 and not is_named and word != "<":
                is_named = True
                if word == "(" and following == "*":  # a pointer to a function
                    name = words[at + 2]
                if name:
                    yield name
                if word == "(":
                    return
            depth += 1
        elif word in ">)]}" and depth:
            depth -= 1
        elif depth == 0 and word in ("=", ":", ","):
            if not is_named and name:
                yield name
            is_named, name = word != ",", ""
        elif depth == 0 and not is_named and re.match(r"[A-Za-z_~]", word):
            name = f"~{word}" if at and words[at - 1] == "~" else word
    if not is_named and name:
        yield name


def _fortran_names(text: str) -> Iterator[str]:
    """Yields procedures, modules, generic interfaces, and what `public ::` lists."""
    text = re.sub(r"&\s*\n\s*&?", " ", re.sub(r"!.*", "", text))
    kinds = r"subroutine|function|module(?!\s+procedure)|interface"
    procedures = rf"^(?![ \t]*end\b)[ \t]*(?:[\w()]+[ \t]+)*?(?:{kinds})[ \t]+(\w+)"
    yield from re.findall(procedures, text, re.MULTILINE | re.IGNORECASE)
    for match in re.finditer(r"^.*\bpublic\s*::(.*)$", text, re.MULTILINE | re.IGNORECASE):
        yield from (each.partition("=")[0].strip() for each in match[1].split(","))


def _python_names(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from _python_names(node, f"{node.name}.")
        elif isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("terrace."):
            names = (alias.asname or alias.name for alias in node.names)
            yield from (name for name in names if not name.startswith("_"))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (each.id for each in targets if isinstance(each, ast.Name))
            yield from (prefix + name for name in names if not name.startswith("_"))

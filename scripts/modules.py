# SPDX-License-Identifier: Apache-2.0
"""Checks the dependencies between modules, for `make lint`: reads Python's imports and the includes of src/
and include/, in quotes or angle brackets.

A module is a folder of src/foundation or src/tiering, a product beside them (src/stencil, ...), or a folder
or file of the Python package. Public headers of stencils and bmem belong to the products stencil and pim; the
others are the module api. src/dependencies.toml and python/dependencies.toml state which module may use which.

Errors are: a dependency that is not allowed; an allowed one that nothing uses; a stated module without files;
a circle of allowed dependencies, of folders at any level, or of files; a file of over 1,000 lines; a file of under
30 lines that one other file alone uses (it belongs there). Exit status 1 if there is any.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES, MIN_LINES = 1000, 30


@dataclass
class Tree:
    """Files, the module and the folder of each, what each uses, and what each module may use."""

    stated_in: str
    allowed: dict[str, list[str]]
    modules: dict[str, str] = field(default_factory=dict)  # by file
    folders: dict[str, str] = field(default_factory=dict)  # by file
    lines: dict[str, int] = field(default_factory=dict)
    uses: dict[str, set[str]] = field(default_factory=dict)
    standalone: set[str] = field(default_factory=set)  # files that may be small: sources, entry points, packages


def python_tree(root: Path) -> Tree:
    """Return the package `terrace`. Imports inside functions and for type checkers count as all others."""
    package = root / "python" / "terrace"
    stated = package.parent / "dependencies.toml"
    tree = Tree(str(stated.relative_to(root)), tomllib.loads(stated.read_text()))
    modules = {_module(file, package.parent): file for file in sorted(package.rglob("*.py"))}
    for module, file in modules.items():
        if file == package / "__init__.py":
            continue
        name, text = str(file.relative_to(root)), file.read_text()
        tree.modules[name] = file.relative_to(package).parts[0].removesuffix(".py")
        # The files beside the package's folders are modules of their own, not a folder.
        tree.folders[name] = str((file if file.parent == package else file.parent).relative_to(root))
        tree.lines[name] = text.count("\n")
        used = {_known(word, modules) for word in _imports(ast.parse(text), module, file.stem == "__init__")}
        tree.uses[name] = {str(modules[word].relative_to(root)) for word in used if word is not None} - {name}
        if file.stem.startswith("__"):
            tree.standalone.add(name)
    top = str((package / "__init__.py").relative_to(root))
    tree.uses = {name: used - {top} for name, used in tree.uses.items()}
    return tree


def _module(file: Path, top: Path) -> str:
    parts = file.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """Yield modules, or names in modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: (1 if is_package else 0) - node.level or None] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _known(word: str, modules: Mapping[str, Path]) -> str | None:
    """Return the module of the package that an imported name is, or is in."""
    while word and word not in modules:
        word = word.rpartition(".")[0]
    return word or None


def _public_module(header: Path) -> str:
    """Return the module of a header, whose path is relative to include/terrace."""
    name = header.parts[0].partition(".")[0]
    return {"stencil": "stencil", "bmem": "pim"}.get(name, "api")


def cpp_tree(root: Path) -> Tree:
    """Return the sources in src/ and the headers in include/terrace.

    Users of a header in other folders count when its users are counted."""
    source = root / "src"
    stated = source / "dependencies.toml"
    groups = tomllib.loads(stated.read_text())
    tree = Tree(
        str(stated.relative_to(root)), {name: uses for group in groups.values() for name, uses in group.items()}
    )
    roots = [source / group for group in groups if (source / group).is_dir()] + [source]
    public = root / "include" / "terrace"
    searched = [*roots, public.parent, public]  # as compilers search; users' <hbwmalloc.h> is in include/terrace
    others = [root / folder for folder in ("python/bindings", "tests", "bench", "tools", "workloads")]
    for folder in (source, public, *others):
        for file in sorted(folder.rglob("*.[ch]*")):
            if file.suffix not in (".c", ".h", ".cpp", ".hpp") or file.parent == source:
                continue
            name, text = str(file.relative_to(root)), file.read_text(errors="replace")
            if folder == source:
                own_root = next(each for each in roots if each in file.parents)
                tree.modules[name] = file.relative_to(own_root).parts[0]
            elif folder == public:
                tree.modules[name] = _public_module(file.relative_to(public))
            if name in tree.modules:
                tree.folders[name] = str(file.parent.relative_to(root))
                tree.lines[name] = text.count("\n")
            includes = re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', text, re.MULTILINE)
            before = {'"': [file.parent], "<": []}
            candidates = [[each / word for each in before[mark] + searched] for mark, word in includes]
            used = [next((path for path in paths if path.is_file()), None) for paths in candidates]
            tree.uses[name] = {
                str(path.resolve().relative_to(root))
                for path in used
                if path and (source in path.parents or public in path.parents)
            }
            if file.suffix in (".c", ".cpp") or folder == public:
                tree.standalone.add(name)
    return tree


def forbidden(tree: Tree) -> list[str]:
    """Return forbidden dependencies, allowed ones that nothing uses, and modules not stated or without files."""
    found = [f"{module}: {tree.stated_in} does not state it" for module in _unstated(tree)]
    needed: dict[str, set[str]] = {}
    for name, module in tree.modules.items():
        for used in sorted(tree.uses[name]):
            target = tree.modules.get(used, module)
            needed.setdefault(module, set()).add(target)
            if target != module and module in tree.allowed and target not in tree.allowed[module]:
                found.append(f"{name} uses {used}: {tree.stated_in} does not allow {module} to use {target}")
    for module, targets in tree.allowed.items():
        if module in tree.modules.values():
            unused = [target for target in targets if target not in needed.get(module, set())]
            found += [f"{tree.stated_in}: {module} does not use {target}" for target in unused]
        else:
            found.append(f"{tree.stated_in}: {module} has no files")
    return found


def _unstated(tree: Tree) -> list[str]:
    return sorted(set(tree.modules.values()) - set(tree.allowed))


def circles(tree: Tree) -> list[str]:
    """Return circles of allowed dependencies, of folders (each with its subfolders apart), and of files."""
    folders: dict[str, set[str]] = {folder: set() for folder in tree.folders.values()}
    for name, folder in tree.folders.items():
        folders[folder] |= {tree.folders[used] for used in tree.uses[name] if used in tree.folders} - {folder}
    files = {name: tree.uses[name] & tree.modules.keys() for name in tree.modules}
    allowed = {module: set(targets) & tree.allowed.keys() for module, targets in tree.allowed.items()}
    return [f"a circle: {', '.join(each)}" for graph in (allowed, folders, files) for each in _components(graph)]


def _components(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        """Visits a node by Tarjan's algorithm for strongly connected components."""
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def sizes(tree: Tree) -> list[str]:
    """Return files that are too long, and those that are too short to stand alone."""
    users: dict[str, list[str]] = {}
    for name, used in tree.uses.items():
        for each in used:
            users.setdefault(each, []).append(name)
    found = [f"{name} has {count} lines" for name, count in tree.lines.items() if count > MAX_LINES]
    for name, count in tree.lines.items():
        if count < MIN_LINES and name not in tree.standalone and len(users.get(name, [])) == 1:
            found.append(f"{name} has {count} lines, and {users[name][0]} alone uses it")
    return found


def errors(tree: Tree) -> list[str]:
    """Returns all errors of a tree, a line each."""
    return [*forbidden(tree), *circles(tree), *sizes(tree)]


def main() -> int:
    """Prints the errors of both trees; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args().root.resolve()
    found = [*errors(python_tree(root)), *errors(cpp_tree(root))]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

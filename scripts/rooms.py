"""Says which file breaks the order of the rooms: reads Python's imports and the includes of src/.

A room is a folder, or a module beside the folders. It may use those before it in the declared order:

    Python  the lines with arrows (`a -> b -> c`) in the docstring of python/terrace/__init__.py
    C++     the list of rooms in src/CMakeLists.txt

Wrong is: an arrow to a later room; a circle, between rooms or between files; a file of over 400 lines; a file of
under 30 lines that one other file alone uses (it belongs there). Exit status 1 if there is any.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES, FEW_LINES = 400, 30


@dataclass
class House:
    """Files, the room of each, and what each uses."""

    order: list[str]
    rooms: dict[str, str] = field(default_factory=dict)  # by file
    lines: dict[str, int] = field(default_factory=dict)
    uses: dict[str, set[str]] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)  # small files that nobody has to fold: entries, tables, packages


def python_house(root: Path) -> House:
    """The package `terrace`. Imports inside functions and for type checkers count as all others."""
    package = root / "python" / "terrace"
    about = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    order = "".join(line for line in about.splitlines() if "->" in line).split("->")
    house = House([room.strip() for room in order])
    modules = {_module(file, package.parent): file for file in sorted(package.rglob("*.py"))}
    for module, file in modules.items():
        if file == package / "__init__.py":
            continue
        name, text = str(file.relative_to(root)), file.read_text()
        house.rooms[name] = file.relative_to(package).parts[0].removesuffix(".py")
        house.lines[name] = text.count("\n")
        used = {_known(word, modules) for word in _imports(ast.parse(text), module, file.stem == "__init__")}
        house.uses[name] = {str(modules[word].relative_to(root)) for word in used if word is not None} - {name}
        if file.stem.startswith("__"):
            house.whole.add(name)
    top = str((package / "__init__.py").relative_to(root))
    house.uses = {name: used - {top} for name, used in house.uses.items()}
    return house


def _module(file: Path, top: Path) -> str:
    parts = file.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """Modules, or names in modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: (1 if is_package else 0) - node.level or None] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _known(word: str, modules: Mapping[str, Path]) -> str | None:
    """The module of ours that an imported name is, or is in."""
    while word and word not in modules:
        word = word.rpartition(".")[0]
    return word or None


def cpp_house(root: Path) -> House:
    """The sources in src/. Users of a header in other folders count when it is asked whether it has one alone."""
    source = root / "src"
    listed = re.search(r"foreach\(room ([^)]*)\)", (source / "CMakeLists.txt").read_text())
    house = House(listed[1].split() if listed else [])
    others = [root / folder for folder in ("python/bindings", "tests", "bench", "tools", "workloads")]
    for folder in (source, *others):
        for file in sorted(folder.rglob("*.[ch]*")):
            if file.suffix not in (".c", ".h", ".cpp", ".hpp") or file.parent == source:
                continue
            name, text = str(file.relative_to(root)), file.read_text(errors="replace")
            if folder == source:
                house.rooms[name] = file.relative_to(source).parts[0]
                house.lines[name] = text.count("\n")
            words = re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE)
            beside = [(file.parent / word, source / word) for word in words]
            used = [next((path for path in paths if path.is_file()), None) for paths in beside]
            house.uses[name] = {
                str(path.resolve().relative_to(root)) for path in used if path and source in path.parents
            }
            if file.suffix in (".c", ".cpp"):
                house.whole.add(name)
    return house


def upward(house: House) -> list[str]:
    """Arrows to a later room, and rooms that are not in the order."""
    place = {room: number for number, room in enumerate(house.order)}
    found = [
        f"{room}/ is not in the order of the rooms" for room in sorted(set(house.rooms.values()) - set(place))
    ]
    for name, room in house.rooms.items():
        for used in sorted(house.uses[name]):
            target = house.rooms.get(used, room)
            if room in place and place.get(target, -1) > place[room]:
                found.append(f"{name} uses {used}: {room} comes before {target}")
    return found


def circles(house: House) -> list[str]:
    """Circles between rooms, and between files."""
    rooms: dict[str, set[str]] = {room: set() for room in house.rooms.values()}
    for name, room in house.rooms.items():
        rooms[room] |= {house.rooms[used] for used in house.uses[name] if used in house.rooms} - {room}
    files = {name: house.uses[name] & house.rooms.keys() for name in house.rooms}
    return [f"a circle: {', '.join(each)}" for graph in (rooms, files) for each in _knots(graph)]


def _knots(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups in which each reaches each other one (Tarjan's strongly connected components of more than one)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
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


def sizes(house: House) -> list[str]:
    """Files that are too long, and those that are too short to stand alone."""
    users: dict[str, list[str]] = {}
    for name, used in house.uses.items():
        for each in used:
            users.setdefault(each, []).append(name)
    found = [f"{name} has {count} lines" for name, count in house.lines.items() if count > MAX_LINES]
    for name, count in house.lines.items():
        if count < FEW_LINES and name not in house.whole and len(users.get(name, [])) == 1:
            found.append(f"{name} has {count} lines, and {users[name][0]} alone uses it")
    return found


def wrong(house: House) -> list[str]:
    """All that is."""
    return [*upward(house), *circles(house), *sizes(house)]


def main() -> int:
    """Says what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args().root.resolve()
    found = [*wrong(python_house(root)), *wrong(cpp_house(root))]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

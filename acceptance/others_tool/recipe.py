"""Reads a public program's recipe, the file `acceptance/others_programs/NAME.toml`, for all of `scripts/others`.
Families share a file.

    title, languages, why (it does not build unchanged; missing where it does)
    [source]   debian or pypi (its name there), version, archive (Debian: the file), sha256; or git (the address of
               a public repository) and version (the whole id of a commit, which is the sum of its content)
    [build]    commands (a shell script, run in the unpacked source; $CC, $CXX, $FC, $CFLAGS, $CXXFLAGS, $FFLAGS
               and $JOBS are set), program (the file that it leaves), packages (of Debian: what it needs beyond
               compilers), unchanged (commands that change nothing but the compilers, where it builds by them, too,
               and is measured in another form: `why` says which)
    [inputs.FILE]   make (a module of others_tool/inputs), and what that takes; where FILE contains @size@, it is
               an input of each size, whose values may be tables by size; a key in capitals is a text for @KEY@
    [run.small], [run.full]   arguments, stdin, files (copies in the run's folder, by name there), program (where
               each size is a program of its own: instead of the build's); {inputs} and {source} stand for the
               folders
    [run.calibrate]  the same, of a size that virtual time is calibrated at, where run.small is not fit for it: it
               takes less than 0.1 s natively. This one takes 0.1 to 0.5 s: it does what run.full does, with fewer
               turns, or with less data, which the caches hold
    [run]      the same for all sizes: @size@ stands for the size, and a table by size for the value of each; sizes
               (a list, where not small and full)
    [family.NAME]   the file is a recipe NAME for each of these tables, whose values stand for @KEY@ in it
    [verify]   output (a file that has it; else what it prints), says (a pattern that a line of the output
               matches), drop (a pattern of lines that differ from run to run), files (that are equal, too), status
               (with which it ends well; default 0)
    [time]     says (a pattern whose group is the seconds of the timed part)
    [loop]     because, and [[loop.is]]: at (FUNCTION of FILE:LINE, by reading the source), functions (any of them
               may hold it after the compiler has inlined calls), turns.small, turns.full; a second [[loop.is]] is
               a loop that is as good a choice (one that is alone inside the first); or none = true, because

The output of a hooked run has to be the native one's, less what `drop` matches.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "others_programs"
SIZES = ("small", "full")
CALIBRATE = "calibrate"  # a size that only some recipes have
_TABLES = {
    "": {"title", "languages", "why", "source", "build", "inputs", "run", "verify", "time", "loop"},
    "source": {"debian", "git", "pypi", "version", "archive", "sha256"},
    "build": {"commands", "program", "packages", "unchanged"},
    "run": {*SIZES, CALIBRATE},
    "verify": {"output", "says", "drop", "files", "status"},
    "time": {"says"},
    "loop": {"is", "because", "none"},
}


class WrongRecipe(Exception):
    """A recipe cannot be read; the text names file, key and what is expected."""


@dataclass(frozen=True)
class Source:
    """Where the program's archive is."""

    registry: str  # debian, git, pypi
    name: str  # of the package; git: the repository's address
    version: str  # git: the id of a commit
    archive: str  # "" where the registry names it
    sha256: str  # "" for git, which checks content against the commit id


@dataclass(frozen=True)
class Run:
    """A size: arguments and standard input."""

    arguments: str = ""
    stdin: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # by name in the run's folder
    program: str = ""  # binary of this size, relative to the source; "": Recipe.program


@dataclass(frozen=True)
class Loop:
    """The main loop as a person reads it from the source."""

    at: str
    functions: tuple[str, ...]
    turns: Mapping[str, int]  # by size


@dataclass(frozen=True)
class Recipe:
    """Content of a recipe file."""

    name: str
    title: str
    languages: tuple[str, ...]
    why: str  # "" where nothing but the compilers is changed
    source: Source
    build: str
    unchanged: str  # another build, in which nothing but the compilers is changed; "" for none
    program: str
    packages: tuple[str, ...]
    inputs: Mapping[str, Mapping[str, Any]]
    runs: Mapping[str, Run]
    output: str  # a file; "" for standard output
    says: str  # "" where its status and its files say enough
    drop: str
    files: tuple[str, ...]
    status: int  # with which it ends well
    seconds: str  # a pattern; "" where it prints none
    loops: tuple[Loop, ...]  # the main loop and those that are as good a choice; empty where it has none
    because: str


def read_all(folder: Path = FOLDER) -> dict[str, Recipe]:
    """Returns all recipes by name."""
    recipes = [recipe for path in folder.glob("*.toml") for recipe in _read(path)]
    return {recipe.name: recipe for recipe in sorted(recipes, key=lambda recipe: recipe.name)}


def read(path: Path) -> Recipe:
    """Reads the recipe of a file. Raises WrongRecipe."""
    return _read(path)[0]


def _read(path: Path) -> list[Recipe]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        family = table.pop("family", {path.stem: {}})
        return [_recipe(name, _by_size(_filled(table, values))) for name, values in family.items()]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, re.error) as error:
        said = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise WrongRecipe(f"{path.name}: {said}") from error


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Returns a value of a table with the values in place of @KEY@: as they are where nothing else is there."""
    if isinstance(value, dict):
        return {_filled(key, values): _filled(each, values) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, values) for each in value]
    if isinstance(value, str):
        for key, each in values.items():
            if value == f"@{key}@":
                return each
            value = value.replace(f"@{key}@", str(each))
    return value


def _by_size(table: dict[str, Any]) -> dict[str, Any]:
    """Returns the table with its runs and inputs written out for each size."""
    run = table["run"]
    all_sizes = (*SIZES, CALIBRATE)
    sizes = run.get("sizes", [size for size in all_sizes if size in run or size in SIZES])

    def of(given: dict[str, Any], size: str) -> dict[str, Any]:
        """Returns the values of a size: of a table with a key for each size the one of that key."""
        own = {k: v[size] if isinstance(v, dict) and set(v) == set(sizes) else v for k, v in given.items()}
        texts = {"size": size, **{key: value for key, value in own.items() if key.isupper()}}
        return {key: _filled(value, texts) for key, value in own.items() if key not in texts or key == "size"}

    common = {key: value for key, value in run.items() if key not in ("sizes", *all_sizes)}
    runs = {size: {**of(common, size), **run.get(size, {})} for size in sizes}
    inputs: dict[str, Any] = {}
    for name, given in table.get("inputs", {}).items():
        by_size = {name.replace("@size@", size): of(given, size) for size in sizes}
        inputs |= by_size if "@size@" in name else {name: given}
    return {**table, "run": runs, "inputs": inputs}


def _recipe(name: str, table: dict[str, Any]) -> Recipe:
    """Checks the keys and values of a recipe's table, and returns the recipe."""
    for place, known in _TABLES.items():
        for key in (table.get(place, {}) if place else table).keys() - known:
            raise ValueError(
                f"{place + '.' if place else ''}{key} is not known; known: {', '.join(sorted(known))}"
            )
    source, build, verify, loop = table["source"], table["build"], table["verify"], table["loop"]
    registries = [each for each in ("debian", "git", "pypi") if each in source]
    if len(registries) != 1:
        raise ValueError("[source] needs exactly one of debian = ..., git = ... and pypi = ...")
    is_git = registries == ["git"]
    if is_git and not re.fullmatch("[0-9a-f]{40}", source["version"]):
        raise ValueError("source.version has to be the whole id of a commit, 40 hexadecimal digits")
    for pattern in (verify.get("says", ""), verify.get("drop", ""), table.get("time", {}).get("says", "")):
        re.compile(pattern)
    return Recipe(
        name=name,
        title=table["title"],
        languages=tuple(table["languages"]),
        why=table.get("why", ""),
        source=Source(
            registries[0],
            source[registries[0]],
            source["version"],
            source.get("archive", ""),
            "" if is_git else source["sha256"],
        ),
        build=build["commands"],
        unchanged=build.get("unchanged", ""),
        program=build["program"],
        packages=tuple(build.get("packages", ())),
        inputs=table.get("inputs", {}),
        runs={size: Run(**table["run"][size]) for size in (*SIZES, *({CALIBRATE} & table["run"].keys()))},
        output=verify.get("output", ""),
        says=verify.get("says", ""),
        drop=verify.get("drop", ""),
        files=tuple(verify.get("files", ())),
        status=verify.get("status", 0),
        seconds=table.get("time", {}).get("says", ""),
        loops=() if loop.get("none") else tuple(_loop(each) for each in loop["is"]),
        because=loop["because"],
    )


def _loop(table: dict[str, Any]) -> Loop:
    turns = {size: int(table["turns"][size]) for size in SIZES}
    return Loop(table["at"], tuple(table["functions"]), turns)

# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the files of a compilation database, and caches which were clean. scripts/lint calls it.

A file is checked again if an input of its result has changed: its preprocessed text, its command, .clang-tidy, or
clang-tidy itself. The exit status is 1 if a file has findings.
"""

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILER_CACHES = ("ccache", "sccache")
GCC_ALONE = ("-fno-tree-loop-distribute-patterns", "-fprofile-update=")


def commands(database: Path, only: list[Path]) -> dict[Path, list[str]]:
    """Returns the compile command of each C and C++ file of this repository, without compiler caches."""
    found: dict[Path, list[str]] = {}
    wanted = {path.resolve() for path in only}
    for entry in json.loads((database / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        inside = path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build")
        if (
            not inside
            or ".venv" in path.parts
            or path.suffix not in {".c", ".cpp"}
            or (wanted and path not in wanted)
        ):
            continue
        words = shlex.split(entry["command"])
        if Path(words[0]).name in COMPILER_CACHES:
            words = words[1:]
        found[path] = [word for word in words if not word.startswith(GCC_ALONE)]
    return found


def key_of(command: list[str], path: Path, directory: Path, rules: bytes) -> str:
    """Returns a hash of all inputs of the result for one file."""
    preprocess = [word for word in command if word != "-c"]
    if "-o" in preprocess:
        at = preprocess.index("-o")
        del preprocess[at : at + 2]
    text = subprocess.run([*preprocess, "-E"], cwd=directory, capture_output=True, check=True).stdout
    # The preprocessed text has no comments, and a comment can hold NOLINT: hash the file itself, too.
    return hashlib.sha256(b"\0".join([rules, shlex.join(command).encode(), text, path.read_bytes()])).hexdigest()


def findings(path: Path, command: list[str], database: Path, rules: bytes) -> str:
    """Returns clang-tidy's findings on one file; "" if it is clean."""
    try:
        mark = ROOT / "build" / "lint" / key_of(command, path, database, rules)
    except subprocess.CalledProcessError as error:
        return f"{path}: does not compile\n{error.stderr.decode()}"
    if mark.exists():
        return ""
    run = subprocess.run(
        ["clang-tidy", "--quiet", str(path), "--", *command[1:]], capture_output=True, text=True, cwd=database
    )
    if run.returncode == 0:
        mark.touch()
        return ""
    return run.stdout or run.stderr


def main() -> int:
    """Runs clang-tidy on all changed files in parallel; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", type=Path, required=True, help="folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("files", nargs="*", type=Path, help="check only these")
    arguments = parser.parse_args()

    (ROOT / "build" / "lint").mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    rules = (ROOT / ".clang-tidy").read_bytes() + version
    database = arguments.database.resolve()
    todo = commands(database, arguments.files)
    bad = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for text in pool.map(lambda item: findings(item[0], item[1], database, rules), todo.items()):
            if text:
                bad += 1
                print(text, flush=True)
    print(f"clang-tidy: {len(todo) - bad} files clean, {bad} with findings", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

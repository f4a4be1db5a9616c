"""Keeps the answers of an unfinished experiment as a separate document next to those of the steps. Any clone of
the repository can resume from it, as virtual time is the same on every machine. steps.py calls it around an
experiment."""

from __future__ import annotations

import json
from pathlib import Path

from results.kept import keep, made, read_own, write_whole
from results.version import Version


def put_by(documents: Path, version: Version, step: str, command: str, folder: Path) -> None:
    """Keeps the answers that the experiment has left in its folder."""
    cells = {
        str(path.relative_to(folder)): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("cells/**/[!.]*.json"))
    }
    keep(documents, version, _name(step), command, {**made(), "answers": cells})


def bring_back(documents: Path, version: Version, step: str, folder: Path) -> None:
    """Restores kept answers into the experiment's folder, without overwriting."""
    there = read_own(documents, version).documents.get(_name(step), {"answers": {}})["answers"]
    for name, content in there.items():
        if not (folder / name).exists():
            write_whole(folder / name, json.dumps(content, indent=1) + "\n")


def drop(documents: Path, step: str) -> None:
    """Removes the answers of a finished experiment, whose tables have all."""
    (documents / f"{_name(step)}.json").unlink(missing_ok=True)


def _name(step: str) -> str:
    return f"{step}.answers"

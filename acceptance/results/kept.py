"""Reads and writes the JSON documents of one commit: each says what made it, of which commit, on which machine, on
which day. The acceptance harness and `make results` keep results by it.

They are in docs/results/data/COMMIT, a file for each step, and go into the repository with the pages that show
them; those of a tree with changes are in out/results/COMMIT-dirty. A folder with documents of two commits is
refused: no page may show figures of both.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.version import Version, machine, today

SCHEMA = 1

Document = dict[str, Any]
HOLDS, FALLS_SHORT, NOT_RUN = "holds", "falls short", "not run"


class Refused(Exception):
    """The documents cannot be used together; the text says which and why."""


def folder_of(root: Path, version: Version) -> Path:
    """Returns the folder of a version's documents."""
    return work_of(root, version) if version.dirty else data(root) / version.name


def data(root: Path) -> Path:
    """Returns the folder of all documents, with a folder for each commit."""
    return root / "docs" / "results" / "data"


def work_of(root: Path, version: Version) -> Path:
    """Returns the folder in which a version's steps build, record and answer."""
    return root / "out" / "results" / version.name


def made() -> Document:
    """Returns the origin of a measurement made now: its machine and day."""
    return {"date": today(), "machine": machine()}


def write_whole(path: Path, text: str) -> None:
    """Writes a file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


@dataclass(frozen=True)
class Kept:
    """The documents of a folder, by step."""

    folder: Path
    documents: Mapping[str, Document]

    @property
    def version(self) -> Version | None:
        """Returns the version of all documents, or None without any."""
        for document in self.documents.values():
            return Version(document["commit"], document["dirty"])
        return None

    def criterion(self, step: str, item: str) -> Document | None:
        """Returns a measured criterion of an acceptance program, or None."""
        rows = self.documents.get(step, {}).get("lines", [])
        return next((row for row in rows if row["item"] == item and row["verdict"] != NOT_RUN), None)


def read(folder: Path) -> Kept:
    """Reads all documents of a folder. Raises Refused if one cannot be read, or is of another version."""
    documents = {}
    for path in sorted(folder.glob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["schema"] != SCHEMA:
                raise Refused(f"{path} has schema {document['schema']}, this is schema {SCHEMA}: remove it")
            documents[path.stem] = document
            of = {"commit": str(document["commit"]), "dirty": bool(document["dirty"])}
        except (ValueError, KeyError, TypeError) as error:
            raise Refused(f"{path} is no result that could be read ({error!r}): remove it") from error
        first = next(iter(documents))
        if of != {key: documents[first][key] for key in of}:
            raise Refused(
                f"{folder} holds results of two versions: {first}.json is of {_named(documents[first])}, "
                f"{path.name} of {_named(document)}; remove those of one"
            )
    return Kept(folder, documents)


def read_own(folder: Path, version: Version) -> Kept:
    """Reads like `read`; raises Refused also if the documents are not of `version`."""
    kept = read(folder)
    if kept.version not in (None, version):
        first = next(iter(kept.documents))
        raise Refused(
            f"{folder} holds results of two versions: {first}.json is of {_named(kept.documents[first])}, the "
            f"tree is at {version.name}; remove the folder"
        )
    return kept


def keep(folder: Path, version: Version, step: str, command: str, content: Mapping[str, Any]) -> Path:
    """Writes a step's document for the result pages; returns its path."""
    document = {
        "schema": SCHEMA,
        "step": step,
        "command": command,
        "commit": version.commit,
        "dirty": version.dirty,
        **content,
    }
    path = folder / f"{step}.json"
    write_whole(path, text_of(document) + "\n")
    return path


def text_of(value: Any, margin: str = "") -> str:
    """Formats a document as JSON: a line for each key, and a line for each row of long tables."""
    if isinstance(value, dict) and value:
        ends, deeper = "{}", margin + " "
        parts = [f"{json.dumps(key)}: {text_of(part, deeper)}" for key, part in value.items()]
    elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
        ends, deeper = "[]", margin + " "
        parts = [json.dumps(part, ensure_ascii=False) for part in value]
    else:
        return json.dumps(value, ensure_ascii=False)
    inside = f",\n{deeper}".join(parts)
    return f"{ends[0]}\n{deeper}{inside}\n{margin}{ends[1]}"


def _named(document: Document) -> str:
    return Version(document["commit"], document["dirty"]).name

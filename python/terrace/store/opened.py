"""Opens a profile store for reading: says in one line what else a file is, or that it is damaged."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from terrace.errors import TerraceError, WrongCallError

APPLICATION = 0x54455252
VERSION = 16
_SQLITE = b"SQLite format 3\0"  # how the file begins: https://www.sqlite.org/fileformat.html, section 1.3


def opened(path: Path) -> sqlite3.Connection:
    """The file's connection. Raises WrongCallError when it is not there or is no store that we read, TerraceError
    when it is damaged."""
    if path.is_dir():
        raise WrongCallError(f"{path} is a folder; name a file that `terrace record` writes")
    if not path.is_file():
        raise WrongCallError(f"{path}: there is no such file; `terrace record -- PROGRAM` writes one")
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    # Names come from the program and from file systems: any bytes.
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    try:
        application = _pragma(connection, path, "application_id")
    except TerraceError:
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                raise
        application = 0
    if application != APPLICATION:
        raise WrongCallError(f"{path} is not a profile store (a file that `terrace record` writes)")
    version = _pragma(connection, path, "user_version")
    if version != VERSION:
        raise WrongCallError(
            f"{path} is a profile store of version {version}, this program reads version {VERSION}"
        )
    return connection


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Our queries are right: what SQLite finds wrong is the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise TerraceError(f"{path} is damaged: {error}") from error


def _pragma(connection: sqlite3.Connection, path: Path, name: str) -> int:
    with damage_named(path):
        value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value

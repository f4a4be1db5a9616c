# SPDX-License-Identifier: Apache-2.0
"""Opens a profile store for reading. Reports in one line if the file is something else, or damaged."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from terrace.errors import TerraceError, WrongCallError
from terrace.store.damage import find_damage

APPLICATION = 0x54455252
VERSION = 19
_SQLITE = b"SQLite format 3\0"  # magic number: https://www.sqlite.org/fileformat.html, section 1.3


def opened(path: Path) -> sqlite3.Connection:
    """Opens a profile store.

    Raises WrongCallError if the file is missing or is not a readable store, TerraceError if it is damaged.
    """
    check_is_file(path)
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        application = _pragma(connection, path, "application_id")
    except TerraceError:
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                raise
        application = 0
    if application != APPLICATION:
        raise WrongCallError(f"{path} is not a profile store; name a file that `terrace record` writes")
    version = _pragma(connection, path, "user_version")
    if version != VERSION:
        raise WrongCallError(
            f"{path} is a profile store of version {version}, this Terrace reads version {VERSION}: "
            "record the program again"
        )
    with damage_named(path):
        if damage := find_damage(connection):
            raise TerraceError(f"{path} is damaged: record the program again ({damage})")
    return connection


def check_is_file(path: Path) -> None:
    """Raises WrongCallError unless the path names a readable regular file.

    Never blocks, as opening a FIFO would.
    """
    if path.is_dir():
        raise WrongCallError(f"{path} is a folder; name a file that `terrace record` writes")
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise WrongCallError(f"{path}: there is no such file; `terrace record -- PROGRAM` writes one") from None
    except OSError as error:
        raise WrongCallError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        raise WrongCallError(
            f"{path} is not a profile store but {_kind(mode)}; name a file that `terrace record` writes"
        )
    try:
        path.open("rb").close()
    except OSError as error:
        raise WrongCallError(f"{path}: {error.strerror}") from None


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Reports SQLite's errors as damage of the file, because the queries themselves are correct."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise TerraceError(f"{path} is damaged: record the program again (SQLite: {error})") from error
    except UnicodeDecodeError as error:  # an SQLite message that quotes names from the file
        text = error.object.decode(errors="replace")
        raise TerraceError(f"{path} is damaged: record the program again (SQLite: {text})") from error


def _pragma(connection: sqlite3.Connection, path: Path, name: str) -> int:
    with damage_named(path):
        value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value

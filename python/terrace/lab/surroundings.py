"""What a run finds beside its arguments: standard input, files in its folder; and its status if it ends well."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from terrace.errors import TerraceError


@dataclass(frozen=True)
class Surroundings:
    """Of the runs of one program at one size."""

    stdin: Path | None = None  # None: it reads nothing
    # Each run gets a folder of its own with copies of these files, so that no run finds what another has written.
    # None: the current folder, as it is.
    folder: Path | None = None
    status: int = 0

    @contextmanager
    def entered(self) -> Iterator[tuple[IO[bytes], Path | None]]:
        """For one run: its standard input, and its folder. Raises TerraceError where one cannot be read."""
        given = self.stdin if self.stdin is not None else Path("/dev/null")
        with tempfile.TemporaryDirectory(prefix="terrace-run-") as own:
            try:
                if self.folder is not None:
                    shutil.copytree(self.folder, own, dirs_exist_ok=True)
                with given.open("rb") as stdin:
                    yield stdin, Path(own) if self.folder is not None else None
            except shutil.Error as error:
                raise TerraceError(f"{self.folder}: its files cannot be copied: {error}") from error
            except OSError as error:
                raise TerraceError(str(error)) from error


AS_HERE = Surroundings()

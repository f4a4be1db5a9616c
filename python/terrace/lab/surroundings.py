# SPDX-License-Identifier: Apache-2.0
"""Defines the environment of a run: standard input, input files in its folder, and the expected exit status.
`terrace compare` and the calibration run programs in it."""

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
    """Environment of the runs of one program at one size."""

    stdin: Path | None = None  # standard input is empty if None
    # Each run gets a new folder with copies of these files, so that runs do not affect each other.
    # Runs in the current folder if None.
    folder: Path | None = None
    status: int = 0

    @contextmanager
    def entered(self) -> Iterator[tuple[IO[bytes], Path | None]]:
        """Prepares one run: its standard input and its folder. Raises TerraceError if one cannot be read."""
        given = self.stdin if self.stdin is not None else Path("/dev/null")
        with tempfile.TemporaryDirectory(prefix="terrace-run-") as own:
            try:
                if self.folder is not None:
                    shutil.copytree(self.folder, own, dirs_exist_ok=True)
                with given.open("rb") as stdin:
                    yield stdin, Path(own) if self.folder is not None else None
            except shutil.Error as error:
                raise TerraceError(
                    f"{self.folder}: cannot copy its files: {error}; make them readable, or free space in TMPDIR"
                ) from error
            except OSError as error:
                raise TerraceError(str(error)) from error


AS_HERE = Surroundings()

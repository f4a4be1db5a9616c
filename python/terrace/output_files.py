# SPDX-License-Identifier: Apache-2.0
"""Protects and writes the files that `--output` names, for every subcommand that writes one.

An existing file is replaced atomically, and only if Terrace wrote it or it is empty. Devices are written in place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from terrace.errors import TerraceError, WrongCallError

_HEAD = 4096  # bytes that identify the kind of a file

Is = Callable[[bytes], object]

is_plan: Is = re.compile(rb"^(planner = |\[\[(object|segment)\]\])", re.MULTILINE).search
is_report: Is = re.compile(rb"<title>[^<]*placement report").search
is_tiles: Is = re.compile(rb"<title>[^<]*: tile plans").search
is_sweep: Is = re.compile(rb'^(\{\s*"schema": |schema,machine,)').match
# Magic number of a zstd frame (RFC 8878, section 3.1.1).
is_trace: Is = re.compile(rb"\x28\xb5\x2f\xfd").match


def check_output(path: Path, what: str, is_ours: Is) -> None:
    """Raises WrongCallError if no file can be created at `path`, or if it holds something other than `what`."""

    def refuse(why: str) -> WrongCallError:
        return WrongCallError(f"--output {path}: {why}")

    if path.is_dir():
        raise refuse("it is a folder; name a file in it")
    if not path.parent.is_dir():
        raise refuse(f"there is no folder {path.parent}")
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise refuse(f"the file that is there cannot be read: {error.strerror}; name another") from error
    if head and not is_ours(head):
        raise refuse(f"a file is there that is no {what}, and is not overwritten; name another")


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Opens a file that replaces `path` once it is completely written. Raises TerraceError."""
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", newline="") as device:
                yield device
            return
        target = path.resolve()
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                yield file
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise TerraceError(f"{path}: cannot be written: {error.strerror}") from error

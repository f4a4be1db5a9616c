# SPDX-License-Identifier: Apache-2.0
"""Defines the errors shown to the user: one line that states what was asked, what was found, and what to do.
Raised throughout the package; cli.py prints them."""

import sys


class TerraceError(Exception):
    """A failed call. Exit status 1."""

    status = 1


class WrongCallError(TerraceError):
    """A wrong call. Exit status 2."""

    status = 2


class NotStartedError(TerraceError):
    """A program that cannot be started. Uses the statuses of shells: 127 if it does not exist, else 126."""

    def __init__(self, program: str, error: OSError) -> None:
        """Takes the launcher's wording."""
        super().__init__(f"cannot start {program}: {error.strerror}")
        self.status = NO_PROGRAM if isinstance(error, FileNotFoundError) else NOT_RUNNABLE


NO_PROGRAM, NOT_RUNNABLE = 127, 126


def launcher_error(text: str, status: int) -> TerraceError:
    """Converts the message and exit status of a nested `terrace` call into an exception."""
    error = WrongCallError(text) if status == WrongCallError.status else TerraceError(text)
    if status in (NO_PROGRAM, NOT_RUNNABLE):
        error.status = status
    return error


def core_error() -> type[Exception]:
    """Returns the exception class of the C++ extension, or TerraceError if the extension is not loaded."""
    core = sys.modules.get("terrace._core")
    return core.Error if core else TerraceError


def core_status(error: Exception) -> int:
    """Returns the exit status for an exception of the C++ extension."""
    from terrace import _core  # late import: pure Python callers need no built extension

    return WrongCallError.status if isinstance(error, _core.InvalidError) else TerraceError.status


class core_errors:  # noqa: N801  (reads as what it does)
    """Converts exceptions of the C++ extension into TerraceError or WrongCallError."""

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        """Raises the same message as a Python exception with the matching exit status."""
        if isinstance(error, core_error()) and not isinstance(error, TerraceError):
            wrong = core_status(error) == WrongCallError.status
            raise (WrongCallError if wrong else TerraceError)(str(error)) from error

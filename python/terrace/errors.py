"""Errors that a person reads: one line that says what was asked, what was found, and what to do."""

import sys


class TerraceError(Exception):
    """The call failed: exit status 1."""

    status = 1


class WrongCallError(TerraceError):
    """The call itself is wrong: exit status 2."""

    status = 2


class NotStartedError(TerraceError):
    """A program cannot be started. The statuses are those of shells: 127 where there is none, else 126."""

    def __init__(self, program: str, error: OSError) -> None:
        """The line that the launcher has for it."""
        super().__init__(f"cannot start {program}: {error.strerror}")
        self.status = NO_PROGRAM if isinstance(error, FileNotFoundError) else NOT_RUNNABLE


NO_PROGRAM, NOT_RUNNABLE = 127, 126


def said_by_launcher(text: str, status: int) -> TerraceError:
    """What another launch of terrace's has failed with, and ended with."""
    error = WrongCallError(text) if status == WrongCallError.status else TerraceError(text)
    if status in (NO_PROGRAM, NOT_RUNNABLE):
        error.status = status
    return error


def core_error() -> type[Exception]:
    """The C++ side's error; one that nobody raises where that side is not loaded."""
    core = sys.modules.get("terrace._core")
    return core.Error if core else TerraceError


def core_status(error: Exception) -> int:
    """The exit status of an error of the C++ side."""
    from terrace import _core  # here: whoever calls nothing in C++ needs nothing that is built

    return WrongCallError.status if isinstance(error, _core.InvalidError) else TerraceError.status


class core_errors:  # noqa: N801  (reads as what it does)
    """Turns the C++ side's errors into ours."""

    def __enter__(self) -> None:
        """Nothing to begin."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        """Raises the same line again, with its exit status."""
        if isinstance(error, core_error()) and not isinstance(error, TerraceError):
            wrong = core_status(error) == WrongCallError.status
            raise (WrongCallError if wrong else TerraceError)(str(error)) from error

"""Errors that a person reads: one line that says what was asked, what was found, and what to do."""

import sys


class TerraceError(Exception):
    """The call failed: exit status 1."""

    status = 1


class WrongCallError(TerraceError):
    """The call itself is wrong: exit status 2."""

    status = 2


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

"""Errors that a person reads: one line that says what was asked, what was found, and what to do."""


class TerraceError(Exception):
    """The call failed: exit status 1."""

    status = 1


class WrongCallError(TerraceError):
    """The call itself is wrong: exit status 2."""

    status = 2


class core_errors:  # noqa: N801  (reads as what it does)
    """Scheduler the C++ side's errors into ours."""

    def __enter__(self) -> None:
        """Nothing to begin."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        """Raises the same line again, with its exit status."""
        from terrace import _core  # here: whoever calls nothing in C++ needs nothing that is built

        if isinstance(error, _core.InvalidError):
            raise WrongCallError(str(error)) from error
        if isinstance(error, _core.Error):
            raise TerraceError(str(error)) from error

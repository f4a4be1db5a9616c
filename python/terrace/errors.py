"""Errors that a person reads: one line that says what was asked, what was found, and what to do."""


class TerraceError(Exception):
    """The call failed: exit status 1."""

    status = 1


class WrongCallError(TerraceError):
    """The call itself is wrong: exit status 2."""

    status = 2

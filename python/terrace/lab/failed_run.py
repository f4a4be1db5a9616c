"""Runs of a comparison that did not end well, and what is said of them."""

from __future__ import annotations

from typing import Any

from terrace.errors import TerraceError, said_by_launcher
from terrace.lab import native

_HELP = "see terrace run --help"  # what the launcher advises where it is called wrongly


class FailedRunError(TerraceError):
    """A run that did not end well: what its last line says."""

    def __init__(self, done: native.Run, account: dict[str, Any] | None, is_terrace: bool) -> None:
        """Of a run under Terrace, or without."""
        lines = [line for line in done.complained.splitlines() if not line.startswith(native.DOCUMENT)]
        last = lines[-1] if lines else "it said nothing on standard error"
        how = f"by signal {-done.status}" if done.status < 0 else f"with {done.status}"
        # Terrace itself failed: the program was not run, or nobody knows what became of it.
        own = is_terrace and account is None and last.startswith("terrace: ")
        of_launcher = last.removeprefix("terrace: ").replace(_HELP, f"{_HELP} and terrace compare --help")
        super().__init__(of_launcher if own else f"the program ended {how}: {last}")
        self.is_own = own
        self.is_terrace = is_terrace
        self.of_program = done.status
        if own:
            self.status = said_by_launcher("", done.status).status


class AlikeError(TerraceError):
    """The first run of the program did not end well, and neither does it without Terrace."""

    def __init__(self, text: str, status: int | None) -> None:
        """`status`: the exit status of both, where it is the same and no signal."""
        super().__init__(text)
        self.of_both = status

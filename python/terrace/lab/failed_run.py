# SPDX-License-Identifier: Apache-2.0
"""Reports failed runs of a `terrace compare`, and formats the messages for them."""

from __future__ import annotations

from typing import Any

from terrace.errors import TerraceError, launcher_error
from terrace.lab import native

_HELP = "see terrace run --help"  # the launcher's advice after a wrong call


class FailedRunError(TerraceError):
    """A run that failed; the message quotes its last line of standard error."""

    def __init__(self, done: native.Run, report: dict[str, Any] | None, is_terrace: bool) -> None:
        """Creates the error of a run with or without Terrace."""
        lines = [line for line in done.stderr.splitlines() if not line.startswith(native.REPORT_PREFIX)]
        last = lines[-1] if lines else "nothing on standard error"
        how = f"by signal {-done.status}" if done.status < 0 else f"with {done.status}"
        # Terrace itself failed: the program did not run, or its result is unknown.
        own = is_terrace and report is None and last.startswith("terrace: ")
        of_launcher = last.removeprefix("terrace: ").replace(_HELP, f"{_HELP} and terrace compare --help")
        super().__init__(of_launcher if own else f"the program ended {how}: {last}")
        self.is_own = own
        self.is_terrace = is_terrace
        self.of_program = done.status
        if own:
            self.status = launcher_error("", done.status).status


class AlikeError(TerraceError):
    """The first run of the program failed, and it fails without Terrace as well."""

    def __init__(self, text: str, status: int | None) -> None:
        """`status`: the exit status of both runs if it is the same and not a signal."""
        super().__init__(text)
        self.of_both = status

"""Results of a guest's jobs: for each job its status and its output."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class JobResults:
    """A folder with NAME.status, NAME.txt and NAME.errors of each job."""

    folder: Path

    def status(self, job: str) -> int:
        return int((self.folder / f"{job}.status").read_text())

    def text(self, job: str) -> str:
        return (self.folder / f"{job}.txt").read_text()

    def errors(self, job: str) -> str:
        return (self.folder / f"{job}.errors").read_text()

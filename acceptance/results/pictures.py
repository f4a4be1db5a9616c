"""Draws the pictures that pages embed, each of a page that a step made, by scripts/picture.py. Steps picture-NAME
call it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.churn import write_trace

Run = Callable[[Sequence[str | Path]], int]


@dataclass(frozen=True)
class Picture:
    """A page, and what is drawn of it."""

    name: str  # of docs/pictures/NAME.png
    of: str  # the step that makes the page; "" where the picture does
    page: str  # under the folder `work`
    options: tuple[str, ...]
    words: str  # its caption; {NAME} is what the document of `of` has there
    makes_page: Callable[[Path, Run], None] | None = None  # where no other step makes it

    @property
    def file(self) -> str:
        """Returns the picture's path in the tree."""
        return f"docs/pictures/{self.name}.png"

    @property
    def command(self) -> str:
        """Returns the command as a reader would type it."""
        return " ".join(["scripts/picture.py", Path(self.page).name, self.file, *self.options])


def _map_of_churn(work: Path, run: Run) -> None:
    """Draws the map of a device in use after random requests and releases."""
    folder = work / "pim-map"
    write_trace(folder / "churn.pim")
    terrace = Path(sys.executable).with_name("terrace")
    run([terrace, "lab", "pim", folder / "churn.pim", "--machine", "imi-ddr4", "--output", folder])


DEMO = "out/demo"  # the demo's folder: in `work`, as in a tree after `make demo`
PICTURES = (
    Picture(
        "report",
        "demo",
        f"{DEMO}/report.html",
        ("--width", "900", "--height", "1120"),
        "The head of the demo's report: CG in class {class}, and slow memory of four times the latency",
    ),
    Picture("validate", "virtual-time", "virtual-time/validate.html", ("--chart", "errors"), "Errors by program"),
    Picture(
        "pim-map",
        "",
        "pim-map/replay.html",
        ("--chart", "fullest"),
        "Rows of one device from top to bottom, its subarrays from left to right",
        _map_of_churn,
    ),
)


def draw(picture: Picture, root: Path, work: Path, run: Run) -> None:
    """Draws the picture, and first makes its page if no other step does."""
    if picture.makes_page is not None:
        picture.makes_page(work, run)
    script = root / "scripts" / "picture.py"
    run([sys.executable, script, work / picture.page, root / picture.file, *picture.options])

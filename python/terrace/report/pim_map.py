"""Maps of a device that computes: rows by subarrays, banks and devices marked, blocks told apart by direction."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from terrace import units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from terrace import _core
    from terrace.pim import Facts

# By cell of PimReplay.occupancy(): free, three shades of horizontal blocks, three of vertical ones.
_LIGHT = ("#eef1f4", "#0b6e99", "#3c9cc6", "#07506f", "#a9561e", "#d08b52", "#7c3d12")
_DARK = ("#232b33", "#5cb8e0", "#8fd3f0", "#3a8fb7", "#e59a5c", "#f2c193", "#b8702f")
_PAGES = {False: ("#ffffff", "#1b2026", "#5a6470"), True: ("#14181d", "#e8ecf0", "#a3aeba")}  # page, ink, soft
_MOST_DEVICES, _A_LINE = 8, 4
_SHARP = 1200  # cells along an edge, about as many as points of the picture


def both(facts: Facts, moment: str) -> tuple[bytes, bytes]:
    """PNG files of the "fullest" moment or the "end": for a light page, and for a dark one."""
    return draw(facts, moment, dark=False), draw(facts, moment, dark=True)


def words(facts: Facts, moment: str) -> str:
    """What the map shows."""
    at = facts.fullest if moment == "fullest" else facts.whole
    when = "The fullest moment" if moment == "fullest" else "The end"
    return (
        f"{when}, after {at.operations:,} of {facts.whole.operations:,} operations: "
        f"{units.percent(facts.share(sum(at.used)))} in use by {at.blocks:,} block{'s' * (at.blocks != 1)}"
    )


def draw(facts: Facts, moment: str, dark: bool) -> bytes:
    """One PNG file; of many devices the first eight."""
    from matplotlib.figure import Figure

    at = facts.fullest if moment == "fullest" else facts.whole
    cells = at.occupancy()[:_MOST_DEVICES]
    page, ink, soft = _PAGES[dark]
    lines = math.ceil(len(cells) / _A_LINE)
    columns = math.ceil(len(cells) / lines)
    figure = Figure(
        figsize=(10.0, 1.4 + 4.3 * lines if columns < 3 else 1.4 + 3.4 * lines), dpi=130, layout="constrained",
        facecolor=page,
    )  # fmt: skip
    panels = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    palette = _palette(_DARK if dark else _LIGHT)
    for number, panel in enumerate(panels.flat):
        if number >= len(cells):
            panel.set_visible(False)
            continue
        _panel(panel, palette[cells[number]], at.geometry, ink, soft, page)
        if at.geometry.devices > 1:
            panel.text(
                0, 1.055, f"device {number}", transform=panel.transAxes, fontsize=8.5, weight="bold", color=ink
            )
        panel.label_outer()
    left_out = at.geometry.devices - len(cells)
    title = words(facts, moment) + (f" (the first {len(cells)} devices)" if left_out else "")
    figure.suptitle(title, fontsize=10.5, x=0.01, ha="left", color=ink)
    _legend(figure, facts, at, _DARK if dark else _LIGHT, ink, soft)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _palette(colours: tuple[str, ...]) -> NDArray[np.uint8]:
    return np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours], dtype=np.uint8)


def _panel(
    panel: Axes, image: NDArray[np.uint8], geometry: _core.PimGeometry, ink: str, soft: str, page: str
) -> None:
    rows, width = geometry.rows, geometry.width
    # Whole copies of few rows and subarrays keep their edges sharp where they are drawn larger.
    for axis, count in enumerate((rows, width)):
        image = image.repeat(max(1, _SHARP // count), axis=axis)
    panel.imshow(image, aspect="auto", extent=(0, width, rows, 0), interpolation="antialiased")
    for bank in range(1, geometry.banks):
        panel.axvline(bank * geometry.subarrays, color=page, linewidth=1.4)
    named = max(1, math.ceil(geometry.banks / (16 if geometry.devices == 1 else 4)))
    for bank in range(0, geometry.banks, named):
        middle = (bank + 0.5) * geometry.subarrays
        panel.text(
            middle, 1.012, f"bank {bank}", fontsize=7.5, color=soft,
            transform=panel.get_xaxis_transform(), ha="center", va="bottom",
        )  # fmt: skip
    panel.set_facecolor(page)
    panel.set_xlabel("subarray, through the banks", fontsize=8.5, color=ink)
    panel.set_ylabel("row", fontsize=8.5, color=ink)
    panel.tick_params(labelsize=8, colors=ink, length=2.5)
    step = max(1, geometry.banks // 8) * geometry.subarrays * (1 if geometry.devices == 1 else 2)
    panel.set_xticks(range(0, width + 1, step))
    step = 1 << max(0, math.ceil(math.log2(max(rows, 8))) - 3)
    panel.set_yticks(range(0, rows + 1, step))
    for spine in panel.spines.values():
        spine.set_color(soft)
        spine.set_linewidth(0.8)


def _legend(
    figure: Figure, facts: Facts, at: _core.PimReplay, colours: tuple[str, ...], ink: str, soft: str
) -> None:
    from matplotlib.patches import Patch

    free = facts.units - sum(at.used)
    entries = [
        (colours[1], f"horizontal blocks {units.percent(facts.share(at.used[0]))}"),
        (colours[4], f"vertical blocks {units.percent(facts.share(at.used[1]))}"),
        (colours[0], f"free {units.percent(facts.share(free))}"),
    ]
    patches = [Patch(facecolor=colour, edgecolor=soft, linewidth=0.6, label=name) for colour, name in entries]
    figure.legend(
        handles=patches, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5, labelcolor=ink
    )

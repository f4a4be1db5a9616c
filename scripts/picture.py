# SPDX-License-Identifier: Apache-2.0
"""Renders a page that Terrace wrote, or one of its charts, as a PNG file for docs/pictures.

    scripts/picture.py out/demo/report.html docs/pictures/report.png --height 2600
    scripts/picture.py out/imi/replay.html docs/pictures/pim-map.png --chart fullest

`make results` renders those of the result pages (acceptance/results/pictures.py). Requires Chromium (Debian: apt
install chromium), which nothing else in Terrace does.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_ALONE = """<style>
header, footer, section:not(:has(#{chart})), section > :not(figure), figure:not(:has(#{chart})), figcaption {{
  display: none !important;
}}
section {{ margin: 0 !important; }}
main {{ padding: 0 !important; }}
.modebar {{ display: none; }}
</style></head>"""


def chart_alone(page: str, chart: str) -> tuple[str, int]:
    """Returns the page with everything else hidden, and the chart's height in points."""
    found = re.search(rf'id="{re.escape(chart)}" role="img"[^>]*style="height:(\d+)px"', page)
    if found is None:
        names = ", ".join(re.findall(r'data-chart="([^"]+)"', page))
        sys.exit(f"there is no chart {chart}; the page has {names}")
    return page.replace("</head>", _ALONE.format(chart=chart), 1), int(found[1])


def main() -> None:
    """Renders a page or a chart as a PNG file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--chart", help="render this chart alone: the name in its data-chart")
    parser.add_argument("--width", type=int, default=1100, help="width of the window, in points")
    parser.add_argument("--height", type=int, default=2600, help="height of the window; ignored with --chart")
    parser.add_argument("--dark", action="store_true")
    arguments = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("there is no Chromium here: apt install chromium")
    text, height = arguments.page.read_text(encoding="utf-8"), arguments.height
    if arguments.chart:
        text, height = chart_alone(text, arguments.chart)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(text, encoding="utf-8")
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--virtual-time-budget=10000",
        ]
        if arguments.dark:
            options += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
        size, target = f"--window-size={arguments.width},{height}", f"--screenshot={arguments.picture.resolve()}"
        done = subprocess.run([browser, *options, size, target, page.as_uri()], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())


if __name__ == "__main__":
    main()

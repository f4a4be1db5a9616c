"""Writes docs/command-line.md from what the command itself says: `make docs` runs it after a build.

The page is kept in git, so that it can be read without a build; `--check` says whether it still tells the truth.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "command-line.md"
INTRODUCTION = """# Command line

<!-- Written by scripts/command_line_page.py from what the command says of itself: change it there. -->

Exit status: 0 done, 1 failed, 2 called wrongly. A file or machine that is named and is not there is a wrong call,
and so is a text file that breaks its format; a profile or recording that is damaged is a failure. `run`, `record`
and `simulate` end as the program ended, also by its signal; as shells do, they end with 127 where there is no
such program, and with 126 where it cannot be run. What a program writes to its standard output passes untouched;
Terrace speaks on standard error.
`TERRACE=off` in the environment makes Terrace vanish.
"""


def help_of(terrace: Path, verb: str) -> str:
    """The help text of one verb, without colour and of one width wherever it is made."""
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "TERMINAL_WIDTH": "100"}
    environment.pop("FORCE_COLOR", None)
    command = [str(terrace), *verb.split(), "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def page(terrace: Path) -> str:
    """The whole page."""
    own = help_of(terrace, "")
    verbs = re.findall(r"^  ([a-z][a-z-]*)  ", own, re.MULTILINE)
    sections = [text for verb in verbs for text in sections_of(terrace, verb)]
    return "\n".join([INTRODUCTION, f"```text\n{own}\n```\n", *sections])


def sections_of(terrace: Path, verb: str) -> list[str]:
    """A section for a verb, or one for each of the verbs below it."""
    text = help_of(terrace, verb)
    _, _, below = text.partition("\nCommands:\n")
    if below:
        names = re.findall(r"^  ([a-z][a-z-]*)  ", below, re.MULTILINE)
        return [section for name in names for section in sections_of(terrace, f"{verb} {name}")]
    return [f"## terrace {verb}\n\n```text\n{text}\n```\n"]


def main() -> int:
    """Writes the page, or compares it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--terrace", type=Path, default=ROOT / ".venv" / "bin" / "terrace")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page is out of date")
    arguments = parser.parse_args()
    text = page(arguments.terrace)
    if arguments.check:
        if not PAGE.exists() or PAGE.read_text() != text:
            print(
                f"{PAGE.relative_to(ROOT)} is out of date: run {Path(__file__).relative_to(ROOT)}", file=sys.stderr
            )
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

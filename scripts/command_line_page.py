# SPDX-License-Identifier: Apache-2.0
"""Generates the command-line documentation from `terrace --describe`: `make docs` runs it after a build.

It writes docs/reference/command-line.md, and in share/ the man pages and the completions for bash, zsh and fish.
All are kept in git, so that they can be read and installed without a build; `--check` reports those that are out
of date.
"""

import argparse
import re
import sys
from pathlib import Path

from command_line import bash, fish, zsh
from command_line.description import read
from command_line.man import man_pages
from command_line.page import page

ROOT = Path(__file__).resolve().parent.parent
MAN = Path("share/man/man1")


def written(terrace: Path) -> dict[Path, str]:
    """Returns the text of each generated file: page, man pages, completions."""
    subcommands = read(terrace)
    version = re.findall(
        r"^project\(Terrace VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE
    )[0]
    return {
        Path("docs/reference/command-line.md"): page(terrace, subcommands),
        Path("share/bash-completion/completions/terrace"): bash.completion(subcommands),
        Path("share/zsh/site-functions/_terrace"): zsh.completion(subcommands),
        Path("share/fish/vendor_completions.d/terrace.fish"): fish.completion(subcommands),
        **{MAN / name: text for name, text in man_pages(subcommands, version).items()},
    }


def main() -> int:
    """Writes the generated files, or checks them (--check)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--terrace", type=Path, default=ROOT / ".venv" / "bin" / "terrace")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file is out of date")
    arguments = parser.parse_args()
    files = written(arguments.terrace)
    # Pages of subcommands that no longer exist.
    gone = [file for file in (ROOT / MAN).glob("*.1") if file.relative_to(ROOT) not in files]
    old = [path for path, text in files.items() if not (ROOT / path).exists() or (ROOT / path).read_text() != text]
    if arguments.check:
        for path in [*old, *(file.relative_to(ROOT) for file in gone)]:
            print(f"{path} is out of date: run {Path(__file__).relative_to(ROOT)}", file=sys.stderr)
        return 1 if old or gone else 0
    for file in gone:
        file.unlink()
    for path in old:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(files[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())

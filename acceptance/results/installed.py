"""Updates the installed copy that steps run, so that it is built from the commit under which results are kept. The
acceptance harness and `make results` call it first."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from results.version import WrongTree

_NEW = "-- Installing: "  # CMake's message for a new or changed file; otherwise "Up-to-date"


def bring_up_to_date(root: Path, target: str = "build") -> bool:
    """Makes the target, and with it the installed copy; whether that changed. Nothing is made in a tree whose
    Makefile has no such target. Raises WrongTree, after what make said, where it fails."""
    makefile = root / "Makefile"
    if not makefile.is_file() or not re.search(rf"^{target}:", makefile.read_text(encoding="utf-8"), re.MULTILINE):
        return False
    log = root / "build" / "release" / "install.log"
    log.unlink(missing_ok=True)  # drop the messages of an earlier call
    done = subprocess.run(["make", target], cwd=root, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        print(done.stdout + done.stderr)
        raise WrongTree(f"make {target} ended with {done.returncode}: there is no copy of this tree to run")
    return log.is_file() and _NEW in log.read_text(encoding="utf-8", errors="replace")

# SPDX-License-Identifier: Apache-2.0
"""Finds the MPI installations that the layer is tested with.

These are Debian's packages (mpicc.mpich, mpicc.openmpi), and those whose prefixes TERRACE_MPI_PREFIXES names,
separated by colons. An installation with `mpicc_abi` is tested with its own ABI and with the standard one.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ALL_PARTS = (
    "threads", "messages", "collectives", "onesided", "file", "neighbours", "intercommunicator", "persistent",
    "partitioned", "sessions", "large",
)  # fmt: skip
OPEN_MPI_OPTIONS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


@dataclass(frozen=True)
class Installation:
    """One MPI library with its compilers and its launcher."""

    name: str
    cc: str
    launcher: str
    fc: str | None = None
    python: str | None = None
    is_abi: bool = False
    version: int = field(default=0)  # of the MPI standard, the major number
    library: str = ""  # "MPICH 4.0.2"

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of wide.c that the library has."""
        if self.version >= 4:
            return ALL_PARTS
        return ALL_PARTS[:-1] if self.library.startswith("Open MPI 5.") else ALL_PARTS[:-3]

    def command(self, program: list[str], ranks: int = 4, preload: str = "") -> list[str]:
        """Returns the command that runs the program, with libraries that only the ranks preload."""
        prefix = ["env", f"LD_PRELOAD={preload}"] if preload else []
        return [self.launcher, "-n", str(ranks), *prefix, *program]

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        """Returns the environment of a run."""
        return {**os.environ, **OPEN_MPI_OPTIONS, **more}


def _describe(cc: str) -> tuple[int, str]:
    """Returns the version of the standard and the library's name, as the header has them."""
    source = "#include <mpi.h>\n"
    macros = subprocess.run([cc, "-E", "-dM", "-x", "c", "-"], input=source, capture_output=True, text=True).stdout
    values = dict(re.findall(r"#define (\w+) (.+)", macros))
    if "OMPI_MAJOR_VERSION" in values:
        parts = (values[f"OMPI_{one}_VERSION"] for one in ("MAJOR", "MINOR", "RELEASE"))
        library = "Open MPI " + ".".join(parts)
    else:
        library = (
            "MPICH " + values.get("MPICH_VERSION", "").strip('"') if "MPICH_VERSION" in values else "Standard ABI"
        )
    return int(values.get("MPI_VERSION", "0")), library


def _under_prefix(prefix: Path, suffix: str = "") -> Installation | None:
    cc = prefix / "bin" / f"mpicc{suffix}"
    if not cc.exists():
        return None
    version, library = _describe(str(cc))
    python = prefix / "bin" / "python"
    has_mpi4py = (
        not suffix
        and python.exists()
        and not subprocess.run([python, "-c", "import mpi4py"], stderr=-3).returncode
    )
    return Installation(
        library.replace(" ", "-").lower(), str(cc), str(prefix / "bin" / "mpirun"),
        python=str(python) if has_mpi4py else None, is_abi=bool(suffix), version=version, library=library,
    )  # fmt: skip


def find_installations(prefixes: Iterable[str] | None = None) -> list[Installation]:
    """Returns Debian's installations, and those of the prefixes, by default those that the environment names."""
    if prefixes is None:
        prefixes = filter(None, os.environ.get("TERRACE_MPI_PREFIXES", "").split(":"))
    found = []
    for kind in ("mpich", "openmpi"):
        tools = [shutil.which(f"{tool}.{kind}") for tool in ("mpicc", "mpirun", "mpifort")]
        if tools[0] and tools[1]:
            version, library = _describe(tools[0])
            name = f"debian-{library.replace(' ', '-')}".lower()
            found.append(Installation(name, tools[0], tools[1], tools[2], version=version, library=library))
    for prefix in prefixes:
        both = (_under_prefix(Path(prefix), suffix) for suffix in ("", "_abi"))
        found += [one for one in both if one]
    return found

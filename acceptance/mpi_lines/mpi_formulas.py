# SPDX-License-Identifier: Apache-2.0
"""States the shared objects of MPI libraries, independently of Terrace's tables (share/mpi_objects).

Patterns and sizes were measured by a prototype that traced mmap(2), shmat(2) and shm_open(3), on MPICH 4.0.2 and
5.0.2, Open MPI 4.1.4 and 5.0.11; the constants are defaults that the libraries document:

- MPICH 5, cells: a page, and for each rank 2 x 64 cells (MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS) of 8,192 + 64
  bytes and 576 bytes of queues. The copy buffers of a communicator's collectives have
  MPIR_CVAR_BCAST_INTRANODE_BUFFER_TOTAL_SIZE (32 KiB), and MPIR_CVAR_REDUCE_INTRANODE_BUFFER_TOTAL_SIZE (32 KiB)
  for each rank. A rank that places them places all: the library's order of ranks in them is not documented.
- UCX in MPICH 4 and 5: receive pools of 4,196 KiB for each transport (sysv, posix) and rank, and FIFOs of 64
  elements (UCX 1.13) or 256 (UCX 1.20) of 128 bytes.
- Open MPI 4: btl_vader_segment_size is 4 MiB, with 8 bytes before it. Open MPI 5: btl_sm_segment_size is 16 MiB.

Windows are not here: the program knows the address of its part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

PAGE = 4096
UCX_FILE = r"/SYSV00000000|/dev/shm/ucx_shm_posix_\w+"
CELLS = 2 * 64 * (8192 + 64)


def pages(size: int) -> int:
    """Rounds bytes up to whole pages."""
    return -(-size // PAGE) * PAGE


@dataclass(frozen=True)
class Shared:
    """A kind of shared mapping: a pattern of its name, and its bytes with so many ranks on the node."""

    kind: str
    name: str
    size: Callable[[int], int]
    header: int = 0  # bytes before the ranks' parts
    part: int = 0  # bytes of a rank's part; 0: the whole mapping belongs to one rank or to all
    is_for_rank: bool = False  # each rank makes one

    def matches(self, name: str, size: int, ranks: int) -> bool:
        return re.match(self.name, name) is not None and pages(self.size(ranks)) == size


POOLS = Shared("pools", UCX_FILE, lambda _: 4196 << 10, is_for_rank=True)
OBJECTS: Mapping[str, tuple[Shared, ...]] = {
    "MPICH 4": (POOLS, Shared("fifos", UCX_FILE, lambda _: 64 * 128 + 255, is_for_rank=True)),
    "MPICH 5": (
        Shared("cells", r"/dev/shm/mpich_shm_", lambda n: PAGE + n * (CELLS + 576), header=PAGE, part=CELLS),
        POOLS,
        Shared("fifos", UCX_FILE, lambda _: 256 * 128 + 255, is_for_rank=True),
        Shared("copy_buffers", r"/dev/shm/mpich_shar_tmp", lambda _: 32 << 10),
        Shared("copy_buffers", r"/dev/shm/mpich_shar_tmp", lambda n: n * (32 << 10)),
    ),
    "Open MPI 4": (Shared("eager", r"/dev/shm/vader_segment\.", lambda _: (4 << 20) + 8, is_for_rank=True),),
    "Open MPI 5": (Shared("eager", r"/dev/shm/sm_segment\.", lambda _: 16 << 20, is_for_rank=True),),
}
# Kinds that a program has on each library if it exchanges short messages, makes windows and allocates memory.
KINDS = {library: {"windows", "alloc_mem", *(row.kind for row in rows)} for library, rows in OBJECTS.items()}


def library_of(version: str) -> str:
    """Returns the key of OBJECTS for the version that the library states. Raises LookupError."""
    found = re.match(r"(MPICH) Version:\s+(\d+)|(Open MPI) v(\d+)", version)
    name = " ".join(filter(None, found.groups())) if found else version
    if name not in OBJECTS:
        raise LookupError(f"no sizes are known of {version[:60]}")
    return name


def window_limits(request: int, ranks: int) -> tuple[int, int]:
    """Returns the least and the most bytes of a window's mapping: all requests, and those in pages with the state
    of the library, of which the prototype saw 8 KiB at most."""
    return pages(request * ranks), pages(request) * ranks + 2 * PAGE

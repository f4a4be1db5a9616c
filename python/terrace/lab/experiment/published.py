# SPDX-License-Identifier: Apache-2.0
"""States values published in the papers' texts, with which experiments compare; pictures without numbers are
omitted.

Unimem: Wu, Huang, Li, SC'17. Two-level memory: the poster of the two-level-memory study, SC'17. Times are relative
to those with all data in fast memory. Out of core: I. Reguly et al., "Beyond 16GB: out-of-core stencil
computations", MCHPC 2017.
"""

from dataclasses import dataclass

# Section 2.2: class D, 16 ranks, 4 per node; all data in slow memory, by program and machine.
SLOW_ONLY = {("lu", "unimem-bw2"): 2.19, ("lu", "unimem-lat2"): 2.14}
# Section 5, Figures 9 and 10: class C, 4 nodes of one rank, 256 MB: slow-only, Unimem, worst of Unimem.
AVERAGES = {"unimem-bw2": (1.18, 1.03, 1.09), "unimem-lat4": (1.47, 1.07, 1.10)}
# Figure 4: SP in class D, one array in fast memory ("" for none): relative time by machine.
SP_ARRAYS = {
    ("lhs", "unimem-lat4"): 1.71,
    ("lhs", "unimem-bw2"): 1.21,
    ("", "unimem-lat4"): 2.15,
    ("", "unimem-bw2"): 1.25,
}
# Figure 13: maximum over programs, by size; MG with 128 MB separately.
BY_SIZE = {"128MB": 1.13, "256MB": 1.07, "512MB": 1.07}
# Figure 11: share of the gain of each program's most useful technique.
TECHNIQUES = {
    "cg": "global over 90 %",
    "lu": "global over 90 %",
    "bt": "local 19 %",
    "sp": "initial 87 %, local 5 %",
    "ft": "partition 58 %",
}
# Table 4, half the bandwidth: moves, MB moved, overhead, overlap.
MOVES = {
    "cg": (3, 132, 0.005, 0.667),
    "ft": (4, 201, 0.015, 0.75),
    "bt": (24, 720, 0.01, 0.875),
    "lu": (3, 187, 0.01, 0.60),
    "sp": (9, 348, 0.015, 0.667),
    "mg": (1, 17, 0.02, 1.0),
    "eddy": (102, 1101, 0.03, 0.706),  # Nek5000 on the eddy problem
}

# Poster, Table I: GB/s of STREAM's kernels, slow and fast.
STREAM = {
    "two-level-sandy-bridge": {
        "copy": (10.75, 28.02), "scale": (10.74, 28.13), "add": (12.21, 31.61), "triad": (12.23, 31.76),
    },
    "knl-7210-flat": {
        "copy": (50.78, 206.39), "scale": (50.75, 256.63), "add": (57.04, 279.09), "triad": (57.09, 295.17),
    },
}  # fmt: skip
# Poster, section III: LULESH's time with all data in slow memory relative to all in fast memory, and with its
# developer's choice.
SPEEDUPS = {"two-level-sandy-bridge": (1.32, 1.03), "knl-7210-flat": (1.43, 1.01)}


@dataclass(frozen=True)
class OutOfCore:
    """Values of a program in the text of "Beyond 16GB", sections 5.2 and 5.3."""

    ddr4: float  # GB/s, all data in the KNL's DDR4
    untiled: float  # GB/s at 48 GB, MCDRAM as a cache
    slowdown: float  # untiled, relative to small problems
    tiled_loss: float  # of 48 GB relative to 6 GB, with tiles
    tiled_gain: float  # at 48 GB, relative to untiled
    nvlink: float  # explicit memory management relative to the baseline in the P100's memory
    pcie: float


# SBLI's moves "can be completely hidden": equal to in-memory.
OUT_OF_CORE = {
    "cloverleaf2d": OutOfCore(50, 86, 0.36, 0.15, 2.2, 0.84, 0.48),
    "cloverleaf3d": OutOfCore(50, 98, 0.45, 0.07, 1.7, 0.84, 0.68),
    "taylor_green": OutOfCore(30, 50, 0.59, 0.07, 1.5, 1.0, 1.0),
}
UNIFIED_GAIN = 3.0  # maximum of tiled relative to untiled unified memory

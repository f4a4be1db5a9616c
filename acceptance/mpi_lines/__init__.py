# SPDX-License-Identifier: Apache-2.0
"""Criteria of `acceptance/mpi`: iterations of plain MPI programs, their output, the division of a node's fast
memory among ranks, where the library's own memory lies, and what Terrace costs them."""

ORDER = ("iterations", "programs", "suites", "wide_runs", "strangers", "node_memory", "objects", "cost")
OPTIONS = {
    "--prefixes": {"default": "", "metavar": "FOLDERS", "help": "further MPI installations, separated by ':'"},
    "--pairs": {"type": int, "default": 20, "help": "pairs of runs whose processor times are compared"},
    "--wide-runs": {"type": int, "default": 200, "help": "runs of the wide program on each MPI build"},
}

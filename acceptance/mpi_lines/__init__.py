# SPDX-License-Identifier: Apache-2.0
"""Criteria of `acceptance/mpi`: iterations of plain MPI programs, their output, and what Terrace costs them."""

ORDER = ("iterations", "cost")
OPTIONS = {"--pairs": {"type": int, "default": 20, "help": "pairs of runs whose processor times are compared"}}

# SPDX-License-Identifier: Apache-2.0
"""Declares the options by which several subcommands select a process of a profile."""

from typing import Annotated

import typer

Process = Annotated[int | None, typer.Option(help="Process id, if the job has several; default: the slowest.")]
Rank = Annotated[int | None, typer.Option(help="Rank of the MPI job; default: the slowest.")]

"""Generates the input files of public programs with fixed seeds, with a module for each kind. execute.py calls it
before a run.

A module has `make(path, **parameters)`, which writes the file; the parameters are those of the recipe's table.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path

from others_tool.recipe import Recipe, WrongRecipe


def prepared(recipe: Recipe, work: Path) -> Path:
    """Makes all of the program's inputs; returns their folder."""
    folder = work / "inputs" / recipe.name
    folder.mkdir(parents=True, exist_ok=True)
    for name, given in recipe.inputs.items():
        sum_of = hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()
        path, stamp = folder / name, folder / f".{name}.{sum_of[:16]}"
        if stamp.exists():
            continue
        parameters = {key: value for key, value in given.items() if key != "make"}
        try:
            importlib.import_module(f"{__name__}.{given['make']}").make(path, **parameters)
        except (KeyError, TypeError, ModuleNotFoundError) as error:
            raise WrongRecipe(f"{recipe.name}.toml: inputs.{name} cannot be made: {error}") from error
        stamp.touch()
    return folder

# SPDX-License-Identifier: Apache-2.0
"""Dispatches the analysis subcommands: lists the folder of subcommands and calls the requested one."""

import signal
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from terrace import describe, verbs
from terrace.errors import TerraceError, core_error, core_status

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
# Typer vendors Click or uses an installed one. In both cases this is the base class of Click's errors.
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]


class _Commands(Mapping[str, object]):
    """Maps names to the commands of a folder. Imports a module only when its command is called: SciPy is slow."""

    def __init__(self, package: str, folder: Path) -> None:
        """Lists the folder."""
        self.package = package
        self.files = {file.stem.replace("_", "-"): file for file in sorted(folder.iterdir()) if _is_command(file)}

    def __getitem__(self, name: str) -> object:
        """Imports the module of a subcommand on its first use, so that the others cost no start-up time."""
        file = self.files[name]
        module = f"{self.package}.{file.stem}"
        if file.is_dir():
            return _Group(_Commands(module, file), name, first_line(file))
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        register = getattr(import_module(module), "register", None)
        if register is None:
            raise TerraceError(f"{file} is not a subcommand: it has no function register(app); define it")
        register(app)
        return typer.main.get_command(app)

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


class _Group(TyperGroup):
    """A subcommand with subcommands. Prints its help without importing them."""

    def __init__(self, listed: _Commands, name: str, about: str) -> None:
        """Creates the group of a folder's commands."""
        super().__init__(
            name=name,
            commands=listed,  # type: ignore[arg-type]  # read-only mapping: Click never writes to it
            help=about,
            no_args_is_help=True,
            rich_markup_mode=None,
            context_settings=_SETTINGS,
        )
        self._listed = listed

    def list_commands(self, ctx: object) -> list[str]:
        """Returns the names of the subcommands."""
        return list(self._listed)

    def format_commands(self, ctx: object, formatter: Any) -> None:  # noqa: ANN401  (Click's class has no public name)
        """Writes the names and summaries of the subcommands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.first_lines().items()))

    def first_lines(self) -> dict[str, str]:
        """Returns the summary of each subcommand, without importing it."""
        return {name: first_line(file) for name, file in self._listed.files.items()}


def _is_command(file: Path) -> bool:
    return (file.suffix == ".py" and file.stem != "__init__") or (file / "__init__.py").is_file()


def first_line(file: Path) -> str:
    """Returns the summary of a subcommand: its docstring's first line behind the name, without the full stop."""
    with (file / "__init__.py" if file.is_dir() else file).open(encoding="utf-8") as text:
        line = next((line for line in text if not line.startswith("#")), "").strip()
    return line.partition("`: ")[2].removesuffix('"""').removesuffix(".")


def application() -> TyperGroup:
    """Returns the root command."""
    folder = Path(next(iter(verbs.__path__)))
    return _Group(_Commands(verbs.__name__, folder), "terrace", "Place a program's data where it runs fastest")


def _description(words: list[str]) -> str | None:
    """Returns the JSON of `SUBCOMMAND... --describe`, or None if the call does not end in `--describe`."""
    if not words or words[-1] != describe.OPTION:
        return None
    command: Any = application()
    context = command.make_context("terrace", [], resilient_parsing=True)
    for word in words[:-1]:
        command = command.get_command(context, word) if hasattr(command, "list_commands") else None
        if command is None:
            return None
        context = command.context_class(command, parent=context, info_name=word, **command.context_settings)
    return describe.describe(" ".join(["terrace", *words[:-1]]), command, context)


def main() -> None:
    """Runs a subcommand. Exits with 2 on a wrong call, with 1 on failure, and prints one line on stderr."""
    # Like any filter, end silently when the reader closes the pipe (`| head`).
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        description = _description(sys.argv[1:])
        if description is not None:
            print(description)
            return
        status = application().main(prog_name="terrace", standalone_mode=False)
    except TerraceError as error:
        _fail(str(error), error.status)
    except core_error() as error:
        _fail(str(error), core_status(error))
    except _ClickError as error:
        _fail(_usage(error), 2)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _usage(raised: Exception) -> str:
    """Returns the one-line message for a wrong command line, with the help page to read."""
    error: Any = raised
    if type(error).__name__ == "NoArgsIsHelpError":
        return f"missing subcommand; see {error.ctx.command_path} --help"
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "terrace"
    return f"{error.format_message().rstrip('.')}; see {where} --help"


def _fail(text: str, status: int) -> NoReturn:
    print(f"terrace: {' '.join(text.split())}", file=sys.stderr)
    sys.exit(status)

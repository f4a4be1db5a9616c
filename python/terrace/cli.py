"""The command line of the verbs that analyse. Each verb is a module."""

import signal
import sys
from typing import Any, NoReturn

import typer

from terrace import bounds, export, lab, plan, report, show
from terrace.errors import TerraceError

app = typer.Typer(
    name="terrace",
    help="Puts a program's data where it runs fastest: the verbs that analyse.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

show.register(app)
bounds.register(app)
plan.register(app)
report.register(app)
export.register(app)
app.add_typer(lab.app, name="lab")


# Typer brings a Click of its own, or takes the one that is installed: either way this is its base of errors.
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]


def main() -> None:
    """Runs a verb. A wrong call exits with 2, a failed one with 1, each with one line on standard error."""
    # As any filter: a reader that has seen enough (`| head`) ends us without a word.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        status = typer.main.get_command(app).main(prog_name="terrace", standalone_mode=False)
    except TerraceError as error:
        _fail(str(error), error.status)
    except _ClickError as error:
        _fail(_usage(error), 2)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _usage(raised: Exception) -> str:
    error: Any = raised
    if type(error).__name__ == "NoArgsIsHelpError":
        return f"which verb? {error.ctx.command_path} --help lists them"
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "terrace"
    return f"{error.format_message().rstrip('.')}; see {where} --help"


def _fail(text: str, status: int) -> NoReturn:
    print(f"terrace: {' '.join(text.split())}", file=sys.stderr)
    sys.exit(status)

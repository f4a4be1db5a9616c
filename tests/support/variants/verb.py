"""`terrace dummy`: say hello."""

import typer


def _dummy() -> None:
    """Say hello."""
    typer.echo("hello from a dummy")


def register(app: typer.Typer) -> None:
    app.command("dummy")(_dummy)

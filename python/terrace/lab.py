"""`terrace lab`: for researchers and developers. Each command is a module of its own that registers here."""

import typer

from terrace import coverage, demo, experiment, misses, pim, sweep, trace, validate

app = typer.Typer(help="For researchers and developers.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def lab() -> None:
    """For researchers and developers."""


demo.register(app)
trace.register(app)
misses.register(app)
coverage.register(app)
sweep.register(app)
pim.register(app)
validate.register(app)
app.add_typer(experiment.app, name="experiment")

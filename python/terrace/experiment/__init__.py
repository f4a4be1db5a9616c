"""`terrace lab experiment`: the published studies once more, ours beside theirs."""

from terrace.experiment.command import app as app

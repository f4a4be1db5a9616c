"""Libraries of the `terrace lab` subcommands: studies, traces, experiments."""

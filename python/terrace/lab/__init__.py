"""What the verbs of `terrace lab` share: studies, traces, experiments."""

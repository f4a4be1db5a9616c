"""Pages and pictures of what a run was."""

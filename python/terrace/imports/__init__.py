"""What other tools measured, as profiles: a module reads a tool's file, `measured` writes what it found."""

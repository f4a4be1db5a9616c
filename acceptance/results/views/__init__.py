"""The views that templates name with `{{ NAME WORDS }}`: a file for each, whose `view` returns Markdown."""

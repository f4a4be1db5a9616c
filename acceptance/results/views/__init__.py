"""What a template may ask for with `{{ NAME WORDS }}`: a file each, whose `view` returns Markdown."""

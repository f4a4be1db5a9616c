"""Renders the placeholders `{{ NAME WORDS }}` of the templates: a file for each view, whose `view` returns
Markdown. pages.py calls them."""

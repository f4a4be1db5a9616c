"""The verbs, a module each, found by listing this folder: a new verb is one new file here.

The file's name is the verb's, with `_` for `-`. Its first line says after the verb's name and a colon what it is
for: the launcher and the help print that. Its `register` adds the verb to a Typer application. A folder is a verb
that has verbs of its own; the first line of its `__init__.py` says what it is for.
"""

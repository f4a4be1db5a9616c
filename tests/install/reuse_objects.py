"""Compiler launcher: copies the object of another build that ran the same command; else it compiles.

    reuse_objects.py --index BUILD INDEX    writes what the other build, which is up to date, compiles
    reuse_objects.py COMPILER FLAGS ...     compiles, with $TERRACE_OBJECTS the index

A command is the same if only the build folder differs, or if the other build compiles it for this machine's
processor. What is left to test of a second build is then how it is configured, linked and installed. What has to
be compiled is compiled without optimisation.
"""

import os
import sys

# It runs for each object: modules that take time to import are left to the index.

SEPARATOR = "\x1f"


def normalized(command, folder):
    """Returns the compiler's words as one text, without dependency output, processor and build folder."""
    words = iter(command)
    kept = []
    for word in words:
        if word in ("-MT", "-MF", "-MQ"):
            next(words)
        elif word not in ("-MD", "-march=native"):
            # The name of precompiled headers has the options.
            kept.append(word.replace(folder, "BUILD").replace("__march_native", ""))
    return SEPARATOR.join(kept)


def after(word, command):
    """Returns what follows a word, or None."""
    return command[command.index(word) + 1] if word in command else None


def write_index(build, index):
    """Writes a line for each object: its path, and its command. Words before the compiler are launchers."""
    import json
    import shlex

    build = os.path.realpath(build)
    with open(os.path.join(build, "compile_commands.json")) as file:
        commands = [shlex.split(entry["command"]) for entry in json.load(file)]
    with open(index, "w") as file:
        for command in commands:
            while os.path.basename(command[0]) in ("ccache", "sccache"):
                command = command[1:]
            if output := after("-o", command):
                file.write(f"{os.path.join(build, output)}\t{normalized(command, build)}\n")


def copied(command):
    """Copies the other build's object of this command; returns False if there is none."""
    output = after("-o", command)
    if output is None:
        return False
    wanted = normalized(command, os.getcwd())
    with open(os.environ["TERRACE_OBJECTS"]) as index:
        for line in index:
            found, _, theirs = line.rstrip("\n").partition("\t")
            if theirs == wanted and os.path.exists(found):
                with open(found, "rb") as source, open(output, "wb") as target:
                    target.write(source.read())
                if depends := after("-MF", command):
                    with open(depends, "w") as file:  # a change of what it includes changes the other object
                        file.write(f"{output}: {found}\n")
                return True
    return False


if __name__ == "__main__":
    if sys.argv[1] == "--index":
        write_index(*sys.argv[2:])
    elif not copied(sys.argv[1:]):
        os.execvp(sys.argv[1], [*sys.argv[1:], "-O0"])

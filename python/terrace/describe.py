# SPDX-License-Identifier: Apache-2.0
"""Describes a subcommand's options as JSON for `terrace SUBCOMMAND --describe`.

The format is that of src/tiering/cli/describe.hpp. The command-line page, the man pages and the shell completion
are generated from these descriptions.
"""

import json
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

OPTION = "--describe"
_SCHEMA = 1


def former_options(names: Mapping[str, str]) -> dict[str, Any]:
    """Returns context settings under which a command accepts former option names, which its help omits.

    `names` maps former to current names, without dashes.
    """
    return {"token_normalize_func": lambda name: names.get(name, name)}


def describe(name: str, command: Any, context: Any) -> str:  # noqa: ANN401  (Click's classes have no public names)
    """Returns the JSON of one subcommand or of a group; `context` is Click's context for it."""
    document: dict[str, Any] = {"schema": _SCHEMA, "name": name}
    if hasattr(command, "list_commands"):
        document["about"] = _text(command.help)
        document["verbs"] = [{"name": below, "about": about} for below, about in command.first_lines().items()]
        return json.dumps(document, indent=2)
    parameters = [_parameter(parameter, context) for parameter in command.get_params(context)]
    words = [parameter["value"] for parameter in parameters if parameter["argument"]]
    document |= {
        "about": _text(command.help),
        "more": _text(command.epilog),
        "program": any("PROGRAM" in word or "[ARGUMENTS]" in word for word in words),
        # Unknown options are passed through to that command.
        "passed_on_to": "run" if context.ignore_unknown_options else "",
        "options": parameters,
    }
    return json.dumps(document, indent=2)


def _text(text: str | None) -> str:
    return dedent((text or "").replace("\b\n", "")).strip()


def _parameter(parameter: Any, context: Any) -> dict[str, Any]:  # noqa: ANN401
    """Returns the JSON object of one option or argument."""
    is_argument = parameter.param_type_name == "argument"
    has_value = is_argument or not parameter.is_flag
    default = parameter.get_default(context) if getattr(parameter, "show_default", True) else None
    return {
        "names": [] if is_argument else sorted([*parameter.opts, *parameter.secondary_opts], key=len),
        "argument": parameter.name if is_argument else "",
        "value": _value(parameter, context) if has_value else "",
        "default": "" if default is None or not has_value else str(default),
        "about": getattr(parameter, "help", None) or "",
        "group": getattr(parameter, "rich_help_panel", None) or "",
        "required": parameter.required,
        "repeats": bool(parameter.multiple if not is_argument else parameter.nargs == -1),
        "needs": [],
        "excludes": [],
    }


def _value(parameter: Any, context: Any) -> str:  # noqa: ANN401
    """Returns the placeholder of the value in the help: FILE, path, int range."""
    if parameter.metavar:
        return str(parameter.metavar)
    # Since Typer vendors Click, it has parameter types of its own.
    own = getattr(parameter, "display_type", None)
    return str(own(context)).strip("<>") if own is not None else str(parameter.type.name)

"""Completion for zsh: a case for each verb, with _arguments of its options."""

import re

from command_line.bash import all_options
from command_line.description import Option, Verb

_FRAME = r"""#compdef terrace
# zsh completion for terrace. Written by scripts/command_line_page.py from what the command says of itself.

# _terrace_offer OFFER...: adds what fits the word under the cursor. The launcher that is being typed knows its
# machines and planners; after a comma another name begins.
_terrace_offer() {
  local offer expl
  local -a names
  local -i failed=1
  for offer; do
    case $offer in
      files=*) _files -g "*${offer#files=}" && failed=0 ;;
      folders=) _path_files -/ && failed=0 ;;
      names=*)
        names=(${(f)"$(_call_program names ${(q)terrace} --names ${offer#names=})"})
        compset -P '*,'
        _wanted names expl ${offer#names=} compadd -a names && failed=0
        ;;
      words=*) _wanted words expl word compadd ${offer#words=} && failed=0 ;;
    esac
  done
  return failed
}

_terrace_below() {
  local -a verbs
  case $1 in
@VERBS@
  esac
  _describe -t verbs verb verbs
}

_terrace_at() {
  case $1 in
@OPTIONS@
  esac
}

_terrace() {
  local terrace=${(Q)words[1]} verb= expl
  local -i dashes=${words[(i)--]} index=2
  terrace=${terrace/#\~\//$HOME/}
  local -a known=(@KNOWN@)
  while ((index < CURRENT)) && [[ -n ${known[(r)${verb:+$verb }${words[index]}]} ]]; do
    verb+=${verb:+ }${words[index]}
    index+=1
  done
  # Behind --, a program and what it takes.
  if ((dashes < CURRENT)); then
    words=("${(@)words[dashes + 1,-1]}")
    ((CURRENT -= dashes))
    _normal
    return
  fi
  case $verb in
@GROUPS@
      if [[ -z $verb && $PREFIX == -* ]]; then
        _arguments '(-h --help)'{-h,--help}'[the verbs]' '--version[the version]'
      else
        _terrace_below "$verb"
      fi
      ;;
    *)
      words=("$verb" "${(@)words[index,-1]}")
      ((CURRENT -= index - 2))
      _terrace_at "$verb"
      ;;
  esac
}

_terrace "$@"
"""


def completion(verbs: list[Verb]) -> str:
    """The whole file."""
    by_name = {verb.name: verb for verb in verbs}
    groups = [verb for verb in verbs if verb.verbs]
    parts = {
        "VERBS": "\n".join(_below(verb) for verb in groups),
        "OPTIONS": "\n".join(_case(verb, all_options(verb, by_name)) for verb in verbs if not verb.verbs),
        "KNOWN": " ".join(f"'{verb.name}'" for verb in verbs if verb.words),
        "GROUPS": "    " + "|".join(f"'{verb.name}'" for verb in groups) + ")",
    }
    text = _FRAME
    for mark, lines in parts.items():
        text = text.replace(f"@{mark}@", lines)
    return text


def _below(verb: Verb) -> str:
    names = " ".join(_quoted(f"{name}:{about}") for name, about in verb.verbs)
    return f"    '{verb.name}') verbs=({names}) ;;"


def _case(verb: Verb, options: list[Option]) -> str:
    lines = [f"    '{verb.name}')", "      _arguments -s \\"]
    lines += [f"        {_option(option)} \\" for option in options]
    lines += [f"        {_argument(argument)} \\" for argument in verb.arguments if argument.offers]
    lines[-1] = lines[-1].removesuffix(" \\")
    return "\n".join([*lines, "      ;;"])


def _option(option: Option) -> str:
    about = f"[{_plain(' '.join(option.about.split()))}]"
    value = f":{_plain(option.value)}:{_action(option)}" if option.value else ""
    names = [f"{name}=" if option.value and name.startswith("--") else name for name in option.names]
    names = [f"{name}+" if option.value and not name.startswith("--") else name for name in names]
    if option.repeats:
        return " ".join(f"'*{name}'{_quoted(about + value)}" for name in names)
    if len(names) == 1:
        return _quoted(names[0] + about + value)
    return f"'({' '.join(option.names)})'{{{','.join(names)}}}{_quoted(about + value)}"


def _argument(argument: Option) -> str:
    mark = "*" if argument.repeats else ""
    return _quoted(f"{mark}:{_plain(argument.argument)}:{_action(argument)}")


def _action(option: Option) -> str:
    offers = " ".join(f"{offer.what}={offer.which}" for offer in option.offers)
    return f" _terrace_offer {offers}" if offers else " "


def _plain(text: str) -> str:
    """Without what has a meaning in a specification."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"

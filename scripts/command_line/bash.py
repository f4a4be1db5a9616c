"""Completion for bash: verbs and options are written in, names of machines and their like are asked for."""

from collections.abc import Iterable

from command_line.description import Offer, Option, Verb

_FRAME = r"""# bash completion for terrace.
# Written by scripts/command_line_page.py from what the command says of itself.

# _terrace_offer OFFER...: adds what fits the word under the cursor.
_terrace_offer() {
  local offer line
  for offer in "$@"; do
    case $offer in
      files:*)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do
          if [[ -d $line || $line == *"${offer#files:}" ]]; then COMPREPLY+=("$line"); fi
        done < <(compgen -f -- "$cur")
        ;;
      folders:)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$cur")
        ;;
      names:*)
        # After a comma another name begins.
        local before=
        [[ $cur == *,* ]] && before=${cur%,*},
        while IFS= read -r line; do COMPREPLY+=("$before$line"); done \
          < <(compgen -W "$("$terrace" --names "${offer#names:}" 2>/dev/null)" -- "${cur##*,}")
        ;;
      words:*)
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "${offer#words:}" -- "$cur")
        ;;
    esac
  done
}

# What the verbs have; in $reply. _terrace_verbs VERB: the verbs below it.
_terrace_verbs() {
  case $1 in
@VERBS@
    *) reply='' ;;
  esac
}

_terrace_options() {
  case $1 in
@OPTIONS@
    *) reply='' ;;
  esac
}

# _terrace_value "VERB OPTION": what is offered for the option's value, one word for each; `none` for one that only
# its user knows, nothing for an option without a value.
_terrace_value() {
  case $1 in
@VALUES@
    *) reply='' ;;
  esac
}

_terrace_argument() {
  case $1 in
@ARGUMENTS@
    *) reply='' ;;
  esac
}

_terrace() {
  local terrace=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} verb='' word reply
  local -i index=1
  COMPREPLY=()
  terrace=${terrace/#\~\//$HOME/}
  # The words that name the verb: as long as there are verbs below.
  while ((index < COMP_CWORD)); do
    _terrace_verbs "$verb"
    word=${COMP_WORDS[index]}
    [[ " $reply " == *" $word "* ]] || break
    verb=${verb:+$verb }$word
    index+=1
  done
  # Behind --, a program and what it takes.
  for ((; index < COMP_CWORD; ++index)); do
    [[ ${COMP_WORDS[index]} == -- ]] || continue
    if declare -F _command_offset >/dev/null; then
      _command_offset $((index + 1))
    elif ((index + 1 == COMP_CWORD)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
    return
  done
  _terrace_verbs "$verb"
  if [[ -n $reply ]]; then
    [[ $verb ]] || reply+=' --help --version'
    _terrace_offer "words:$reply"
    return
  fi
  word=${COMP_WORDS[COMP_CWORD - 1]}
  # bash takes the = of --option=value for a word.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $word == = ]] && ((COMP_CWORD > 2)); then
    word=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  _terrace_value "$verb $word"
  if [[ -n $reply ]]; then
    # shellcheck disable=SC2086  # a word for each offer
    _terrace_offer $reply
  elif [[ $cur == -* ]]; then
    _terrace_options "$verb"
    _terrace_offer "words:$reply"
  else
    _terrace_argument "$verb"
    # shellcheck disable=SC2086
    _terrace_offer $reply
    if ((${#COMPREPLY[@]} == 0)); then
      _terrace_options "$verb"
      _terrace_offer "words:$reply"
    fi
  fi
}

complete -F _terrace terrace
"""


def completion(verbs: list[Verb]) -> str:
    """The whole file."""
    by_name = {verb.name: verb for verb in verbs}
    options = {verb.name: all_options(verb, by_name) for verb in verbs if not verb.verbs}
    parts = {
        "VERBS": _cases((verb.name, " ".join(name for name, _ in verb.verbs)) for verb in verbs if verb.verbs),
        "OPTIONS": _cases(
            (name, " ".join(word for option in known for word in option.names)) for name, known in options.items()
        ),
        "VALUES": _cases(
            ("|".join(f'"{name} {word}"' for word in option.names), _offers(option.offers) or "none")
            for name, known in options.items()
            for option in known
            if option.value and option.names
        ),
        "ARGUMENTS": _cases(
            (verb.name, _offers(offer for argument in verb.arguments for offer in argument.offers))
            for verb in verbs
            if any(argument.offers for argument in verb.arguments)
        ),
    }
    text = _FRAME
    for mark, lines in parts.items():
        text = text.replace(f"@{mark}@", lines)
    return text


def all_options(verb: Verb, by_name: dict[str, Verb]) -> list[Option]:
    """Its own, and those that it passes on and has none of the same name for."""
    own = {word for option in verb.dashed for word in option.names}
    others = by_name[verb.passed_on_to].dashed if verb.passed_on_to else []
    return verb.dashed + [option for option in others if not own & set(option.names)]


def _offers(offers: Iterable[Offer]) -> str:
    return " ".join(dict.fromkeys(f"{offer.what}:{offer.which}" for offer in offers))


def _cases(cases: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        f"    {name if name.startswith(chr(34)) else f'{chr(34)}{name}{chr(34)}'}) reply={text!r} ;;"
        for name, text in cases
    )

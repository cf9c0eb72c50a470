# Completes toy in bash; written by `toy completions bash`.
_toy() {
  local line=${COMP_LINE:0:COMP_POINT} command='' option='' head='' current word
  local names='' words='' list='' paths='' takes_value=''
  local -a typed=()
  COMPREPLY=()
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  ((${#typed[@]} > 1)) || return 0
  current=${typed[-1]}
  option=${typed[-2]}
  if [[ $current == --*=* ]]; then
    option=${current%%=*}
    head=$option=
  fi
  for word in "${typed[@]:1:${#typed[@]}-2}"; do
    case "$command/$word" in
      '/find') command='find' ;;
      '/list') command='list' ;;
      'list/deep') command='list deep' ;;
    esac
  done
  case $command in
    '')
      names='find list -h --help'
      ;;
    'find')
      names='-h --help --color --format --out --seed'
      case $option in
        --color) takes_value=1 words='red blue dark:red' list=1 ;;
        --format) takes_value=1 words='text md' ;;
        --out) takes_value=1 paths=-d ;;
        --seed) takes_value=1 ;;
        *) paths=-f ;;
      esac
      ;;
    'list')
      names='deep -h --help'
      ;;
    'list deep')
      names='-h --help'
      case $option in
        *) words='red blue dark:red' ;;
      esac
      ;;
  esac
  if [[ $takes_value ]]; then
    names=''
  elif [[ $current == -* ]]; then
    words='' paths='' list=''
  elif [[ $words || $paths ]]; then
    names=''
  fi
  [[ $list && $current == *,* ]] && head=${current%,*},
  for word in $words; do
    [[ $head$word == "$current"* ]] && COMPREPLY+=("$head$word")
  done
  for word in $names; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done
  if [[ $paths ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do
      COMPREPLY+=("$head$word")
    done < <(word=${current#"$head"}; compgen "$paths" -- "${word/#\~/$HOME}")
  fi
  local breaks=${COMP_WORDBREAKS//[^:=]/}
  if [[ $breaks && $current == *[$breaks]* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*["$breaks"]}"}"}")
  fi
}
complete -F _toy toy

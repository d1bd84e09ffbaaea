# SPDX-License-Identifier: Apache-2.0
# bash completion for ferrovia: its options.

_ferrovia() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local options='-c --help-config --dump-graph --dump-api --version --help'
    COMPREPLY=()
    case $before in
        -c)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return ;;
        --dump-api)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$word")
            return ;;
    esac
    if [[ $word == -* && $COMP_CWORD == 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    fi
}

complete -F _ferrovia ferrovia

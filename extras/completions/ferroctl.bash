# SPDX-License-Identifier: Apache-2.0
# bash completion for ferroctl: its options, and the commands of the daemon, which is asked for them.

_ferroctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i
    local options='-s --socket -j --json -h --help -V --version'
    local -a own=() command=()
    COMPREPLY=()
    if [[ $before == -s || $before == --socket ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    # Options stand before the command.
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            -s | --socket) own+=(-s "${COMP_WORDS[++i]}") ;;
            --socket=*) own+=("${COMP_WORDS[i]}") ;;
            -*) ;;
            *) break ;;
        esac
    done
    command=("${COMP_WORDS[@]:i:COMP_CWORD-i}")
    if [[ ${#command[@]} == 0 && $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" "${own[@]}" --complete "${command[*]:+${command[*]} }$word" 2>/dev/null)
}

complete -F _ferroctl ferroctl

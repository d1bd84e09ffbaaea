# SPDX-License-Identifier: Apache-2.0
# bash completion for ferroctl: its options, and the commands of the daemon, which is asked for them.

# A word as the command will see it, into `plain': quotes and backslashes gone, `~' and variables in force, open quotes
# closed, which `quote' then holds. What could run something or open a file stays as it is.
_ferroctl_plain() {
    plain=$1 quote=
    [[ $1 == *[\`\(\)\{\}\<\>\;\&\|]* ]] && return
    for quote in '' \' \"; do
        eval "plain=$1$quote" 2>/dev/null && return
    done
    quote=
}

_ferroctl() {
    local line=${COMP_LINE:0:COMP_POINT} i raw plain quote breaks before text
    local options='-s --socket -j --json -h --help -V --version'
    local -a words=() own=() command=() found=()
    COMPREPLY=()
    # bash divides at `:' and `=' too: what no blank divides is one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        raw=${COMP_WORDS[i]}
        if [[ $i == 0 || $line == [[:blank:]]* ]]; then
            line=${line#"${line%%[![:blank:]]*}"}
            words+=('')
        fi
        # The cursor may be inside the last word.
        [[ $line == "$raw"* ]] || raw=$line
        words[-1]+=$raw
        line=${line#"$raw"}
    done
    raw=${words[-1]}
    unset 'words[-1]'
    for i in "${!words[@]}"; do
        _ferroctl_plain "${words[i]}"
        words[i]=$plain
    done
    # Outside of quotes, what stands after the last of these is replaced.
    breaks=${COMP_WORDBREAKS//[!:=@]/}
    if [[ ${words[-1]} == -s || ${words[-1]} == --socket || $raw == --socket=* || ${COMP_WORDS[COMP_CWORD-1]} == *[\<\>] ]]; then
        raw=${raw#--socket=}
        raw=${raw##*[\<\>]}
        _ferroctl_plain "$raw"
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$plain")
        # A `~' that was typed stays.
        [[ $raw != \~/* ]] || COMPREPLY=("${COMPREPLY[@]/#"$HOME"/\~}") plain=\~${plain#"$HOME"}
        [[ -z $breaks || $quote || $plain != *["$breaks"]* ]] || COMPREPLY=("${COMPREPLY[@]#"${plain%"${plain##*["$breaks"]}"}"}")
        return
    fi
    # Options stand before the command.
    for ((i = 1; i < ${#words[@]}; i++)); do
        case ${words[i]} in
            -s | --socket) own+=(-s "${words[++i]}") ;;
            --socket=*) own+=("${words[i]}") ;;
            --) ((i++)) && break ;;
            -*) ;;
            *) break ;;
        esac
    done
    command=("${words[@]:i}")
    if [[ ${#command[@]} == 0 && $raw == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$raw")
        return
    fi
    if [[ ${command[0]} == apply ]]; then
        _ferroctl_plain "$raw"
        compopt -o filenames 2>/dev/null
        if [[ ${words[-1]} == -f || ${words[-1]} == --file ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$plain")
        else
            mapfile -t COMPREPLY < <(compgen -W '-f --file --plan --confirmed' -- "$plain")
        fi
        return
    fi
    _ferroctl_plain "$raw"
    mapfile -t found < <("${words[0]}" "${own[@]}" --complete "${command[*]:+${command[*]} }$plain" 2>/dev/null)
    # A command may stand in quotes as one word.
    before=
    [[ $plain != *' '* ]] || before=${plain% *}' '
    for text in "${found[@]}"; do
        text=$before$text
        [[ -z $breaks || $quote || $plain != *["$breaks"]* ]] || text=${text#"${plain%"${plain##*["$breaks"]}"}"}
        case $quote in
            \') text=${text//\'/\'\\\'\'} ;;
            \") text=${text//\\/\\\\} text=${text//\"/\\\"} text=${text//\$/\\\$} text=${text//\`/\\\`} ;;
            *) printf -v text %q "$text" ;;
        esac
        COMPREPLY+=("$text")
    done
}

complete -F _ferroctl ferroctl

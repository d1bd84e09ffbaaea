# SPDX-License-Identifier: Apache-2.0
# fish completion for ferroctl: its options, and the commands of the daemon, which is asked for them.

function __ferroctl_commands
    set -l words (commandline -opc)
    set -l own
    # Without the quote that it begins with.
    set -l word (commandline -ct | string replace -r '^["\']' '' | string replace -ra '\\\\(.)' '$1')
    # `~' and variables are as they were typed.
    set -l program (__ferroctl_path $words[1])
    type -q -- $program; or return
    set -e words[1]
    # Options stand before the command.
    while string match -q -- '-*' "$words[1]"
        switch "$words[1]"
            case -s --socket
                set own -s (__ferroctl_path $words[2])
                set -e words[1]
            case '--socket=*'
                set own -s (__ferroctl_path (string replace -- --socket= '' $words[1]))
            case --
                set -e words[1]
                break
        end
        set -e words[1]
    end
    # A command may stand in quotes as one word.
    set -l before (string match -r '.* ' -- "$word")
    set -l line "$words $word"
    $program $own --complete (string trim -l -- $line) 2>/dev/null | while read -l found
        echo -- "$before$found"
    end
end

function __ferroctl_path
    if string match -qr '^[\w/.~$-]+$' -- $argv[1]
        eval echo -- $argv[1]
    else
        echo -- $argv[1]
    end
end

complete -c ferroctl -f -a '(__ferroctl_commands)'
complete -c ferroctl -s s -l socket -r -F -d 'The CLI socket of the daemon'
complete -c ferroctl -s j -l json -d 'Answers as JSON'
complete -c ferroctl -s h -l help -d 'Print a summary'
complete -c ferroctl -s V -l version -d 'Print the version'
complete -c ferroctl -n '__fish_seen_subcommand_from apply' -s f -l file -r -F -d 'The configuration'
complete -c ferroctl -n '__fish_seen_subcommand_from apply' -l plan -d 'Only show the lines'
complete -c ferroctl -n '__fish_seen_subcommand_from apply' -l confirmed -x -d 'Minutes until it goes back, unless commit follows'

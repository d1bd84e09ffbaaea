# SPDX-License-Identifier: Apache-2.0
# fish completion for ferroctl: its options, and the commands of the daemon, which is asked for them.

function __ferroctl_commands
    set -l words (commandline -opc) (commandline -ct)
    set -l own
    set -e words[1]
    # Options stand before the command.
    while string match -q -- '-*' "$words[1]"
        if contains -- "$words[1]" -s --socket
            set own -s "$words[2]"
            set -e words[1]
        end
        set -e words[1]
    end
    ferroctl $own --complete "$words" 2>/dev/null
end

complete -c ferroctl -f -a '(__ferroctl_commands)'
complete -c ferroctl -s s -l socket -r -F -d 'The CLI socket of the daemon'
complete -c ferroctl -s j -l json -d 'Answers as JSON'
complete -c ferroctl -s h -l help -d 'Print a summary'
complete -c ferroctl -s V -l version -d 'Print the version'

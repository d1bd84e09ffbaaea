# SPDX-License-Identifier: Apache-2.0
# fish completion for ferrovia: its options.

complete -c ferrovia -f
complete -c ferrovia -s c -r -F -d 'Read configuration from a file'
complete -c ferrovia -l help-config -d 'Print every section and word of the configuration'
complete -c ferrovia -l dump-graph -d 'Print the packet graph as a Graphviz picture'
complete -c ferrovia -l dump-api -x -a '(__fish_complete_directories)' -d 'Write the .api.json files of the binary API'
complete -c ferrovia -l version -d 'Print the version'
complete -c ferrovia -l help -d 'Print a summary'

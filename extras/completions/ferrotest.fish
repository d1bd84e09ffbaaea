# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ferrotest_global_optspecs
    string join \n h/help V/version
end

function __fish_ferrotest_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ferrotest_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ferrotest_using_subcommand
    set -l cmd (__fish_ferrotest_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ferrotest -n "__fish_ferrotest_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -s V -l version -d 'Print version'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "selftest" -d 'Measure the tester against itself'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "throughput" -d 'Throughput: highest rate without loss (RFC 2544 §26.1)'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "ndrpdr" -d 'No-drop and partial-drop rate (MLRsearch, RFC 9971)'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "mrr" -d 'Maximum receive rate under the highest load'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "loss" -d 'Frame loss rate by load (RFC 2544 §26.3)'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "latency" -d 'Latency at shares of the throughput (RFC 8219 §7.2)'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "pdv" -d 'Packet delay variation (RFC 8219 §7.3.1)'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "ipdv" -d 'Inter-packet delay variation (RFC 8219 §7.3.2)'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "b2b" -d 'Back-to-back frames (RFC 2544 §26.4, RFC 9004)'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "recovery" -d 'Recovery from overload (RFC 2544 §26.5)'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "reset" -d 'Reset of the device under load (RFC 6201)'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "soak" -d 'One load for a long time'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "compare" -d 'Compare devices: the same traffic, in turns'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "lab" -d 'A laboratory by hand: three namespaces, two veth pairs'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "replay" -d 'Send the frames of a capture file through a device'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "report" -d 'Make reports of a result file'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "paper" -d 'The experiments of a study, as far as this machine has cores'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "reconfig" -d 'Load routes under traffic; not built yet'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "nat-cps" -d 'New NAT sessions per second (RFC 9693); not built yet'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "nat-teardown" -d 'Removals of NAT sessions (RFC 9693); not built yet'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "nat-capacity" -d 'Capacity of a NAT (RFC 9693); not built yet'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "nat-throughput" -d 'Throughput of a NAT (RFC 9693); not built yet'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "scale" -d 'Figures as workers, flows, routes, rules or sessions grow; not built yet'
complete -c ferrotest -n "__fish_ferrotest_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l port -d 'Kind of port' -r -f -a "ring\t'Rings in the process'
veth\t'A veth pair, by AF_PACKET'
af-xdp\t'AF_XDP; not built yet'
tap\t'Tap; not built yet'
memif\t'Memif; not built yet'
dpdk\t'DPDK; not built yet'"
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand selftest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand throughput" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ndrpdr" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand mrr" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand loss" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand latency" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand pdv" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand ipdv" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand b2b" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand recovery" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reset" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand soak" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l modes -d 'Modes, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand compare" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand lab" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand replay" -l rate -d 'Frames per second; the times of the file if it isn\'t given' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand replay" -l write -d 'Capture file for the frames that come back' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand replay" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand replay" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand report" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand report" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand report" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand report" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand report" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand report" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand report" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l profile -d 'Profile: quick, rfc2544, csit or thesis' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l sizes -d 'Frame sizes with FCS, separated by commas; imix is one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l family -d 'Kinds of packets: ip4, ip6, ethernet, separated by commas' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l vlan -d 'VLAN of all frames' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l src -d 'Source addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l dst -d 'Destination addresses: fixed, random:COUNT or zipf:COUNT' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l ports -d 'Ports: rfc4814, or SOURCE:DESTINATION, each a port or FIRST-LAST' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l siitperf -d 'Ports, directions, families and address ranges of a configuration file of siitperf; its Ethernet and IP addresses are those of the lab' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l foreground -d 'Share of the foreground in a mix with the other family, such as 9/10' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l rate -d 'Load in packets per second and direction, for modes that need one' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l max-rate -d 'Highest load of searches' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l duration -d 'Duration of a trial; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l repeats -d 'Repeats; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l width -d 'Width of the last interval of a search, as a share; otherwise the profile\'s' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l wait -d 'Time after which a packet counts as lost' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l soak -d 'Duration of a soak' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l workers -d 'Workers of devices that have them, separated by commas for several measurements' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l seed -d 'Seed of all that is random' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l title -d 'Title of the report' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l json -d 'Result file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l html -d 'Report as one HTML file' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l markdown -d 'Report in Markdown' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l csv -d 'All values as CSV' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l rate-csv -d 'Rates in siitperf\'s form' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l figures -d 'Folder for the figures as SVG' -r -F
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l assert -d 'Condition on the results, such as "ndr>=400000"; more than once for several' -r
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l one-way -d 'Packets in one direction only'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l any-address -d 'Permit addresses outside of 198.18.0.0/15 and 2001:2::/48'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l resume -d 'Go on with the measurements of an interrupted result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -l no-selftest -d 'Leave the self-test of the tester out'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -s q -l quiet -d 'Show no progress'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand paper" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand reconfig" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand nat-cps" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand nat-teardown" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand nat-capacity" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand nat-throughput" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand scale" -s h -l help -d 'Print help'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "selftest" -d 'Measure the tester against itself'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "throughput" -d 'Throughput: highest rate without loss (RFC 2544 §26.1)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "ndrpdr" -d 'No-drop and partial-drop rate (MLRsearch, RFC 9971)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "mrr" -d 'Maximum receive rate under the highest load'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "loss" -d 'Frame loss rate by load (RFC 2544 §26.3)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "latency" -d 'Latency at shares of the throughput (RFC 8219 §7.2)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "pdv" -d 'Packet delay variation (RFC 8219 §7.3.1)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "ipdv" -d 'Inter-packet delay variation (RFC 8219 §7.3.2)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "b2b" -d 'Back-to-back frames (RFC 2544 §26.4, RFC 9004)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "recovery" -d 'Recovery from overload (RFC 2544 §26.5)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "reset" -d 'Reset of the device under load (RFC 6201)'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "soak" -d 'One load for a long time'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "compare" -d 'Compare devices: the same traffic, in turns'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "lab" -d 'A laboratory by hand: three namespaces, two veth pairs'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "replay" -d 'Send the frames of a capture file through a device'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "report" -d 'Make reports of a result file'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "paper" -d 'The experiments of a study, as far as this machine has cores'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "reconfig" -d 'Load routes under traffic; not built yet'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "nat-cps" -d 'New NAT sessions per second (RFC 9693); not built yet'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "nat-teardown" -d 'Removals of NAT sessions (RFC 9693); not built yet'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "nat-capacity" -d 'Capacity of a NAT (RFC 9693); not built yet'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "nat-throughput" -d 'Throughput of a NAT (RFC 9693); not built yet'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "scale" -d 'Figures as workers, flows, routes, rules or sessions grow; not built yet'
complete -c ferrotest -n "__fish_ferrotest_using_subcommand help; and not __fish_seen_subcommand_from selftest throughput ndrpdr mrr loss latency pdv ipdv b2b recovery reset soak compare lab replay report paper reconfig nat-cps nat-teardown nat-capacity nat-throughput scale help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'

// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::{commands as own, plugins, store};
use cli::{ErrorKind, Tree};
use graph::World;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

fn tree() -> Tree<World> {
    let mut tree = Tree::new(own::own::<World>()).unwrap();
    tree.add(store::commands::all::<World>()).unwrap();
    tree.add(plugins::ALL.iter().flat_map(|p| p.cli)).unwrap();
    tree.refer(commands());
    tree.set_foreign(FOREIGN);
    tree.set_meaning(meaning);
    tree
}

/// Words that VPP knows after each beginning of a command.
fn words() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut after: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (path, _) in commands() {
        let mut before = String::new();
        for word in path.split(' ') {
            after.entry(before.clone()).or_default().insert(word);
            before = format!("{before} {word}").trim().to_string();
        }
    }
    after
}

/// Cuts each word to the shortest prefix that is unique among VPP's words at this point.
fn shortest(path: &str, after: &BTreeMap<String, BTreeSet<&'static str>>) -> String {
    let mut before = String::new();
    let mut cut = Vec::new();
    for word in path.split(' ') {
        let others = &after[&before];
        let unique = |n: &usize| others.iter().filter(|o| o.starts_with(&word[..*n])).count() == 1;
        let n = (1..=word.len()).find(unique).unwrap_or(word.len());
        cut.push(&word[..n]);
        before = format!("{before} {word}").trim().to_string();
    }
    cut.join(" ")
}

#[suite::test]
fn abbreviations_of_vpp_keep_their_meaning() {
    let (tree, after) = (tree(), words());
    let mut wrong = Vec::new();
    for (path, _) in commands() {
        let short = shortest(path, &after);
        let meant = tree.meaning(&short);
        if meant != path {
            wrong.push(format!("`{short}` means `{meant}`, not `{path}`"));
        }
        assert_eq!(tree.meaning(path), path);
    }
    // A whole word of ours comes before what it would abbreviate: `clear ip' is the beginning of
    // our own commands.
    wrong.retain(|why| !why.contains("means `clear ip`, not `clear ipsec "));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[suite::test]
fn what_people_type_runs_what_vpp_runs() {
    let tree = tree();
    for (typed, meant) in [
        ("sh run", "show runtime"),
        ("show run", "show runtime"),
        ("sho ver", "show version"),
        ("sh int", "show interface"),
        ("sh int addr", "show interface address"),
        ("sh err", "show errors"),
        ("sh tra", "show trace"),
        ("cle tra", "clear trace"),
        ("sh ip fib", "show ip fib"),
        ("show running", "show running-config"),
    ] {
        assert_eq!(tree.meaning(typed), meant, "{typed}");
    }
}

/// `?` says what a word means, beside the value behind it.
#[suite::test]
fn help_says_what_words_mean() {
    let line = "create vxlan tunnel src 10.0.0.1 dst 10.0.0.2 vni 5 ";
    let world = World::new(&graph::WorldConfig::default(), &[]).expect("a world").0;
    let help = tree().complete(&world, line, line.len()).help();
    let of = |word: &str| help.lines().find(|l| l.trim_start().starts_with(word));
    for (path, word, text) in words::words().filter(|(path, ..)| *path == "create") {
        if let Some(shown) = of(&format!("{word} ")) {
            assert!(shown.ends_with(text), "{path} {word}: {shown}");
        }
    }
    assert!(of("encap-copy-df ").is_some_and(|line| line.len() > 30), "{help}");
}

/// Commands of other systems aren't commands here, and each has a hint whose commands are.
#[suite::test]
fn what_others_call_it_leads_to_the_command() {
    let tree = tree();
    for (foreign, hint) in FOREIGN {
        let error = tree.check(foreign).expect_err(foreign);
        assert_eq!(error.hint_text(), Some(*hint), "{foreign}");
        let here = hint.split('`').skip(1).filter_map(|part| part.split_once('\'')).map(|(c, _)| c);
        for command in here.filter(|c| !matches!(*c, "del" | "systemctl restart ferrovia")) {
            let known = tree.commands().iter().any(|c| {
                c.path == command
                    || c.path.starts_with(&format!("{command} "))
                    || command.starts_with(&format!("{} ", c.path))
            });
            assert!(known, "{foreign}: {command}");
        }
    }
    let error = tree.check("show ip route 10.0.0.0/8").expect_err("not a command");
    assert_eq!(error.hint_text(), Some("`show ip fib' here"), "{error}");
}

#[suite::test]
fn what_is_not_built_says_what_it_belongs_to() {
    let tree = tree();
    let said = |line: &str| {
        let error = tree.check(line).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{line}: {error}");
        error.message().to_string()
    };
    assert_eq!(
        said("show cnat session"),
        "`show cnat session' belongs to cnat_plugin.so, which is not part of this build"
    );
    assert_eq!(
        said("wireguard peer add x"),
        "`wireguard peer add' belongs to wireguard_plugin.so, which is not part of this build"
    );
    assert!(said("sh flowprobe").contains("flowprobe_plugin.so"));
    // Drivers of devices that aren't served.
    for (line, owner) in [
        ("create interface rdma host-if eth0", "rdma_plugin.so"),
        ("delete interface rdma rdma0", "rdma_plugin.so"),
        ("create interface vmxnet3 0000:0b:00.0", "vmxnet3_plugin.so"),
        ("delete interface vmxnet3 vmxnet3-0/b/0/0", "vmxnet3_plugin.so"),
        ("show vmxnet3", "vmxnet3_plugin.so"),
        ("create netmap name vale00:0", "netmap_plugin.so"),
        ("delete netmap name vale00:0", "netmap_plugin.so"),
        ("create interface virtio 0000:00:03.0", "PCI devices"),
        ("delete interface virtio virtio-0/0/3/0", "PCI devices"),
        ("device attach pci/0000:00:05.0 driver iavf", "VPP's device framework"),
        ("device detach pci/0000:00:05.0", "VPP's device framework"),
        ("device create-interface pci/0000:00:05.0", "VPP's device framework"),
        ("device remove-interface x", "VPP's device framework"),
        ("device reset pci/0000:00:05.0", "VPP's device framework"),
        ("show device", "VPP's device framework"),
    ] {
        let text = said(line);
        assert!(text.contains(&format!("belongs to {owner}, which is not part")), "{text}");
    }
    // And their messages.
    for module in ["dev", "vmxnet3", "virtio"] {
        assert!(owner_of_module(module).is_some(), "{module}");
    }
    // No completion leads there.
    for (path, _) in commands()
        .filter(|(path, _)| tree.check(path).is_err_and(|e| e.kind() == ErrorKind::Unsupported))
    {
        assert!(!tree.commands().iter().any(|c| c.path == path), "{path}");
    }
}

#[suite::test]
fn the_list_is_in_order_and_names_nothing_twice() {
    let paths: Vec<_> = commands().map(|(path, _)| path).collect();
    assert!(paths.is_sorted_by(|a, b| a < b));
    let sections: Vec<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
    assert!(sections.is_sorted_by(|a, b| a < b));
}

/// Rules of startup.conf name VPP's plugins: ours that have only commands of one have its name.
#[suite::test]
fn plugins_of_vpp_have_its_names() {
    let owners: BTreeMap<_, _> = commands().collect();
    let mut named = 0;
    for plugin in plugins::ALL {
        let of: BTreeSet<_> =
            plugin.cli.iter().filter_map(|command| owners.get(command.path).copied()).collect();
        if of.len() == 1
            && let Some(file) = of.first().copied().flatten()
            && file.ends_with(PLUGIN)
        {
            assert_eq!(stem(file), stem(plugin.name), "its commands are those of {file}");
            assert!(is_plugin(plugin.name), "{file}");
            named += 1;
        }
    }
    assert!(named > 15, "{named} plugins of VPP");
    assert!(!is_plugin("ip") && !is_plugin("acl_plugin"));
}

/// Lines as VPP's documentation and its users write them, in orders that its parsers take.
const LINES: &[&str] = &[
    "adjacency counters enable",
    "clear errors",
    "clear interface tag loop0",
    "clear interfaces",
    "clear ip neighbors loop0",
    "clear logging",
    "clear node counters",
    "clear runtime",
    "clear trace",
    "create host-interface name eth0",
    "create host-interface name eth0 hw-addr 02:fe:00:00:00:01",
    "create host-interface v2 name eth0 num-rx-queues 2 num-tx-queues 2",
    "create host-interface name eth0 mode ip qdisc-bypass-disable cksum-gso-disable",
    "create loopback interface",
    "create loopback interface instance 3 mac 02:fe:00:00:00:01",
    "create tap id 0 host-ip4-addr 192.0.2.1/24 host-if-name tap0 host-ns ns1",
    "create tap host-mac-addr 02:fe:00:00:00:02 id 1 hw-addr 02:fe:00:00:00:01 no-gso rx-ring-size 256 num-rx-queues 1",
    "create teib loop0 peer 192.0.2.1 nh 198.51.100.1",
    "create teib nh-table-id 7 nh 198.51.100.1 loop0 peer 192.0.2.1",
    "delete host-interface name eth0",
    "delete loopback interface intfc loop0",
    "delete tap tap0",
    "delete tap sw_if_index 3",
    "delete teib peer 192.0.2.1 loop0",
    "disable ip6 interface loop0",
    "enable ip4 interface loop0",
    "enable ip6 interface loop0",
    "exec /tmp/file",
    "ip container 192.0.2.1 loop0",
    "loopback create-interface",
    "loopback delete-interface intfc loop0",
    "pcap trace rx tx max 1000 intfc any file rx.pcap",
    "pcap trace max-bytes-per-pkt 128 rx intfc loop0 max 35",
    "pcap trace off",
    "pcap trace status",
    "ping 192.0.2.1 repeat 3 interval 0.2 source loop0 size 100 verbose",
    "ping ipv4 192.0.2.1 table-id 7",
    "punt socket register ipv4 udp 53 socket /tmp/s",
    "punt socket register socket /tmp/s ipv6 udp all",
    "punt socket deregister udp 53",
    "set arp proxy start 192.0.2.1 end 192.0.2.9",
    "set interface feature loop0 ip4-not-enabled arc ip4-unicast disable",
    "set interface ip address del loop0 192.0.2.1/24",
    "set interface ip address del loop0 all",
    "set interface ip address loop0 192.0.2.1/24",
    "set interface ip directed-broadcast loop0 enable",
    "set interface ip source-and-port-range-check loop0 tcp-out-vrf 1 udp-in-vrf 2",
    "set interface ip source-and-port-range-check tcp-out-vrf 1 loop0 del",
    "set interface ip table loop0 7",
    "set interface ip6 table loop0 7",
    "set interface ip6-nd proxy loop0 enable",
    "set interface mac address loop0 02:fe:00:00:00:01",
    "set interface mtu 1500 loop0",
    "set interface mtu packet 1500 loop0",
    "set interface mtu ip6 1280 loop0",
    "set interface name loop0 uplink",
    "set interface promiscuous on loop0",
    "set interface promiscuous loop0 off",
    "set interface proxy-arp loop0 enable",
    "set interface reassembly loop0 on",
    "set interface rx-mode loop0 polling",
    "set interface rx-mode interrupt queue 0 loop0",
    "set interface rx-placement loop0 queue 0 worker 0",
    "set interface rx-placement worker 0 loop0 queue 0",
    "set interface rx-placement loop0 main",
    "set interface state loop0 up",
    "set interface state loop0 enable",
    "set interface tag loop0 text",
    "set interface unnumbered loop0 use loop1",
    "set interface unnumbered del loop0",
    "set ip flow-hash table 7 src dst sport dport proto",
    "set ip flow-hash src dst table 7",
    "set ip source-and-port-range-check vrf 7 192.0.2.0/24 port 53",
    "set ip source-and-port-range-check 192.0.2.0/24 range 10 - 20 vrf 7 del",
    "set ip6 flow-hash table 7 src dst flowlabel",
    "set logging class cli level debug",
    "set logging class cli rate-limit 10 level debug syslog-level warn",
    "set logging size 100",
    "set logging unthrottle-time 10",
    "set node function ip4-lookup v3",
    "set punt ipv4 udp 53",
    "set punt udp all",
    "set punt udp del ipv6 53",
    "set terminal ansi on",
    "set terminal history off",
    "set terminal history limit 10",
    "set terminal pager off",
    "set terminal pager limit 1000",
    "set urpf ip4 rx loop0 loose",
    "set urpf loop0 strict ip6 tx table 7",
    "set urpf-accept table 7 192.0.2.0/24 add",
    "set urpf-accept del 192.0.2.0/24",
    "show adj 1",
    "show adj nbr loop0",
    "show bihash",
    "show buffers",
    "show buffers verbose",
    "show clock",
    "show clock verbose",
    "show cpu",
    "show errors verbose",
    "show event-logger",
    "show event-logger 100",
    "show features verbose",
    "show fib walk",
    "show frame-queue",
    "show graph node want_arcs input trace_supported",
    "show hardware-interfaces brief",
    "show hardware-interfaces verbose loop0",
    "show interface rx-placement",
    "show ip local",
    "show ip neighbors loop0",
    "show ip pmtu",
    "show ip punt redirect",
    "show ip source-and-port-range-check vrf 7 192.0.2.1 port 53",
    "show ip4 neighbors",
    "show ip6 interface loop0",
    "show ip6 neighbors loop0",
    "show logging",
    "show logging configuration",
    "show macro",
    "show macro noevaluate",
    "show memory main-heap",
    "show memory main-heap verbose",
    "show memory stats-segment",
    "show memory api-segment",
    "show memory verbose",
    "show memory map",
    "show memory numa-heaps",
    "show node ip4-lookup",
    "show node index 3",
    "show node ip4-lookup verbose",
    "show physmem",
    "show physmem verbose",
    "show plugins",
    "show runtime",
    "show runtime brief",
    "show runtime max",
    "show runtime verbose",
    "show runtime summary",
    "show runtime time",
    "show statistics segment",
    "show tap tap0 descriptors",
    "show terminal",
    "show threads",
    "show trace max 10",
    "show unix errors",
    "show urpf loop0",
    "show version",
    "show version cmdline",
    "show version verbose",
    "show vlib graph ip4-lookup",
    "trace add af-packet-input 10",
    "trace add af-packet-input 10 verbose",
    "trace filter include ip4-lookup 10",
    "undefine name",
    "define name some value",
    "wait 0.5",
];

#[suite::test]
fn lines_of_vpp_are_taken() {
    let tree = tree();
    let refused: Vec<String> = LINES
        .iter()
        .filter_map(|line| tree.check(line).err().map(|e| format!("{line}: {e}")))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// Returns VPP's commands, sections of startup.conf and API modules that this build lacks, by
/// plugin or feature.
fn missing() -> BTreeMap<&'static str, (usize, Vec<&'static str>, Vec<&'static str>)> {
    let tree = tree();
    let mut all: BTreeMap<_, (usize, Vec<_>, Vec<_>)> = BTreeMap::new();
    let lacks = |path: &str| tree.check(path).is_err_and(|e| e.kind() == ErrorKind::Unsupported);
    for (_, owner) in commands().filter(|(path, _)| lacks(path)) {
        all.entry(owner.unwrap_or("VPP's core")).or_default().0 += 1;
    }
    let built = crate::config::Config::default().views();
    let is_built = |section: &str| built.iter().any(|view| view.name == section);
    for (section, owner) in SECTIONS.iter().copied().filter(|(section, _)| !is_built(section)) {
        all.entry(owner).or_default().1.push(section);
    }
    let built: Vec<_> = plugins::ALL.iter().flat_map(|p| p.api).map(|module| module.name).collect();
    let published = msg::tables().published().map(|(name, _)| name);
    for module in published.filter(|name| !built.contains(name) && *name != "memclnt") {
        all.entry(
            owner_of_module(module).unwrap_or_else(|| panic!("whose is the module {module}?")),
        )
        .or_default()
        .2
        .push(module);
    }
    all
}

/// A page of the tree, and where it lies.
fn page(name: &str) -> (std::path::PathBuf, String) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

#[suite::test]
fn the_page_for_operators_of_vpp_lists_all_that_is_missing() {
    const MARKS: [&str; 2] = ["<!-- table: what is missing -->\n", "<!-- end of the table -->\n"];
    let mut table =
        "\n| belongs to | commands | sections of startup.conf | API modules |\n|---|---:|---|---|\n"
            .to_string();
    for (owner, (commands, sections, modules)) in missing() {
        let list =
            |names: &[&str]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let n = if commands == 0 { String::new() } else { commands.to_string() };
        let _ = writeln!(table, "| {owner} | {n} | {} | {} |", list(&sections), list(&modules));
    }
    let (path, text) = page("docs/coming-from-vpp.md");
    let (head, rest) = text.split_once(MARKS[0]).expect("the table's beginning");
    let (_, tail) = rest.split_once(MARKS[1]).expect("the table's end");
    let new = format!("{head}{}{table}\n{}{tail}", MARKS[0], MARKS[1]);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, new).unwrap();
    } else {
        assert_eq!(text, new, "run the test with UPDATE=1");
    }
}

/// Features that README may call missing, and what VPP's parts of them belong to.
const NAMED: &[(&str, &str)] = &[
    ("IPsec", "IPsec"),
    ("WireGuard", "wireguard_plugin.so"),
    ("MPLS", "MPLS"),
    ("SRv6", "SRv6"),
    ("QoS marking", "QoS marking"),
    ("policers", "policer_plugin.so"),
    ("VPP's host stack", "VPP's host stack"),
];

#[suite::test]
fn what_the_readme_says_is_missing_is() {
    let missing = missing();
    let (_, text) = page("README.md");
    let text = text.replace('\n', " ");
    let list = text.split_once("Not there yet are ").expect("the sentence").1;
    let list = list.split(" (").next().unwrap_or_default().replace(" and ", ", ");
    let names: Vec<_> = list.split(", ").collect();
    assert!(names.len() >= 7, "{names:?}");
    for name in names {
        let owner = NAMED.iter().find(|(known, _)| *known == name);
        let owner = owner.unwrap_or_else(|| panic!("`{name}' is not in the list of this test")).1;
        assert!(missing.contains_key(owner), "{name} ({owner}) is not missing any more");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Objects of routes, as commands show them, checked against the configuration.

use daemon::plugins;
use graph::drive::Bench;
use net::Interfaces;
use serde_json::Value;
use testkit::pkt;

/// Two links with a known neighbour on each, and routes of all kinds.
fn router() -> Bench {
    let mut bench = Bench::new(plugins::ALL);
    for port in 1..=2 {
        for line in [
            format!("create packet-generator interface pg{port} hw-addr 02:fe:00:00:00:0{port}"),
            format!("set interface state pg{port} up"),
            format!("set interface ip address pg{port} 10.{port}.0.1/24"),
            format!("set ip neighbor pg{port} 10.{port}.0.2 02:aa:00:00:00:0{port} static"),
        ] {
            run(&mut bench, &line);
        }
    }
    for line in [
        "ip table add 7",
        "ip6 table add 7",
        "ip route add 20.0.0.0/24 count 5 via 10.1.0.2 pg1",
        "ip route add 30.0.0.0/24 via 10.1.0.2 pg1 weight 3 via 10.2.0.2 pg2 weight 1",
        "ip route add 30.0.1.0/24 via 10.1.0.2 pg1 weight 3 via 10.2.0.2 pg2 weight 1",
        "ip route add 40.0.0.0/24 via ip4-lookup-in-table 7",
        "ip route add table 7 20.0.0.0/8 via 10.2.0.2 pg2",
        "ip route add 2001:db8::/32 via drop",
    ] {
        run(&mut bench, line);
    }
    bench
}

fn run(bench: &mut Bench, line: &str) -> String {
    let said = bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    bench.settle();
    said
}

/// Output of a command as text and as JSON.
fn show(bench: &mut Bench, line: &str) -> (String, Value) {
    let json = run(bench, &format!("{line} -j"));
    (
        run(bench, line),
        serde_json::from_str(&json).unwrap_or_else(|e| panic!("{line}: {e}: {json}")),
    )
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// The only element that `which` accepts.
#[track_caller]
fn only(all: &Value, which: impl Fn(&Value) -> bool) -> &Value {
    let found: Vec<&Value> =
        all.as_array().expect("a list").iter().filter(|one| which(one)).collect();
    assert_eq!(found.len(), 1, "{found:#?} of {all}");
    found[0]
}

/// A packet from the host behind `pg1`.
fn send(bench: &mut Bench, to: &str) {
    let from = bench.world.get::<Interfaces>().find("pg1").expect("made");
    let packet = pkt::ether("02:aa:00:00:00:01", "02:fe:00:00:00:01").ip4("10.1.0.2", to).udp(7, 9);
    bench.arrive(from, &packet.payload_len(20).build());
    bench.settle();
}

fn neighbor(bench: &mut Bench, address: &str) -> Value {
    let (_, all) = show(bench, "show adj nbr");
    only(&all, |adj| adj["nexthop"] == address && adj["kind"] == "neighbor").clone()
}

#[test]
fn a_load_balance_has_buckets_by_weight() {
    let mut bench = router();
    let (text, all) = show(&mut bench, "show load-balance");
    let [one, two] =
        ["10.1.0.2", "10.2.0.2"].map(|hop| number(&neighbor(&mut bench, hop)["index"]));
    // Both routes share their paths, and so their load-balance.
    let balance = only(&all, |_| true);
    let leads: Vec<u64> = balance["leads"].as_array().expect("a list").iter().map(number).collect();
    let count = |of| leads.iter().filter(|to| **to == of).count();
    assert_eq!((count(one), count(two)), (3, 1), "{leads:?}");
    assert!(
        text.contains(&format!("[@{}]", balance["index"])) && text.contains("[buckets:4]"),
        "{text}"
    );
    assert_eq!(text.lines().filter(|line| line.contains("via 10.1.0.2 pg1")).count(), 3, "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("via 10.2.0.2 pg2")).count(), 1, "{text}");
    let by_number = show(&mut bench, &format!("show load-balance {}", balance["index"])).1;
    assert_eq!(by_number, all);
    assert!(
        bench
            .cli(&format!("show load-balance {one}"))
            .expect_err("a neighbour")
            .to_string()
            .contains("no load-balance")
    );
    run(&mut bench, "ip route del 30.0.0.0/24");
    assert_eq!(show(&mut bench, "show load-balance").1, all, "the other one still has it");
    run(&mut bench, "ip route del 30.0.1.0/24");
    assert_eq!(show(&mut bench, "show load-balance"), (String::new(), Value::Array(Vec::new())));
}

#[test]
fn a_lookup_names_its_table() {
    let mut bench = router();
    let (_, tables) = show(&mut bench, "show ip table");
    let (text, all) = show(&mut bench, "show lookup-dpo");
    let lookup = only(&all, |_| true);
    assert_eq!(number(&lookup["leads"]), 1, "the table's index: {tables}");
    assert!(text.starts_with(&format!("[@{}] ", lookup["index"])), "{text}");
    assert!(text.contains("lookup in fib_index 1"), "{text}");
    run(&mut bench, "ip route del 40.0.0.0/24");
    assert_eq!(show(&mut bench, "show lookup-dpo").1, Value::Array(Vec::new()));
}

#[test]
fn neighbours_adjacencies_count_what_leaves() {
    let mut bench = router();
    let before = neighbor(&mut bench, "10.2.0.2");
    assert_eq!((&before["interface"], number(&before["packets"])), (&"pg2".into(), 0));
    let rewrite = "02aa0000000202fe000000020800";
    assert_eq!((&before["rewrite"], number(&before["mtu"])), (&rewrite.into(), 9000));
    run(&mut bench, "ip route add 50.0.0.0/8 via 10.2.0.2 pg2");
    (0..3).for_each(|_| send(&mut bench, "50.0.0.1"));
    let after = neighbor(&mut bench, "10.2.0.2");
    assert_eq!((number(&after["packets"]), number(&after["bytes"])), (3, 3 * (20 + 8 + 20)));
    let (text, all) = show(&mut bench, "show adj nbr pg2");
    let line =
        text.lines().find(|line| line.contains("via 10.2.0.2")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains(rewrite) && line.contains("mtu:9000 next:pg2-output"), "{line}");
    assert!(
        line.ends_with("to:[3:144]") && line.contains(&format!("locks:{}", after["locks"])),
        "{line}"
    );
    assert!(all.as_array().expect("a list").iter().all(|adj| adj["interface"] == "pg2"), "{all}");
    // Gleans, drops and all others are none.
    let kinds = |all: &Value| {
        all.as_array()
            .expect("a list")
            .iter()
            .map(|adj| adj["kind"].to_string())
            .collect::<Vec<_>>()
    };
    let (_, of_neighbors) = show(&mut bench, "show adj nbr");
    assert!(kinds(&of_neighbors).iter().all(|kind| kind == "\"neighbor\""), "{of_neighbors}");
    assert!(kinds(&show(&mut bench, "show adj").1).iter().any(|kind| kind == "\"glean\""));
    let (text, summary) = show(&mut bench, "show adj nbr summary");
    assert_eq!(number(&summary["adjacencies"]) as usize, kinds(&of_neighbors).len());
    assert_eq!(text, format!("Number of adjacencies: {}\n", summary["adjacencies"]));
}

#[test]
fn entries_stand_in_their_tables() {
    let mut bench = router();
    let (text, all) = show(&mut bench, "show fib entry");
    let at = |prefix: &str, table: u64| {
        number(
            &only(&all, |entry| entry["prefix"] == prefix && number(&entry["table"]) == table)["index"],
        )
    };
    let in_seven = at("20.0.0.0/8", 7);
    let first = at("20.0.0.0/24", 0);
    at("20.0.4.0/24", 0);
    let six = at("2001:db8::/32", 0);
    assert_eq!(text.lines().count(), all.as_array().expect("a list").len());
    assert!(text.lines().any(|line| line == format!("{in_seven}@20.0.0.0/8 fib:1")), "{text}");
    // One of them, with its source.
    let (text, one) = show(&mut bench, &format!("show fib entry {first}"));
    assert_eq!(only(&one, |_| true)["prefix"], "20.0.0.0/24");
    assert!(
        text.contains("20.0.0.0/24") && text.contains("CLI") && text.contains("10.1.0.2 pg1"),
        "{text}"
    );
    let (_, one) = show(&mut bench, &format!("show fib entry {six}"));
    assert_eq!(only(&one, |_| true)["prefix"], "2001:db8::/32");
    run(&mut bench, "ip route del 2001:db8::/32");
    let gone = bench.cli(&format!("show fib entry {six}")).expect_err("gone");
    assert_eq!(
        (gone.code(), gone.to_string().contains(&format!("no entry {six}"))),
        (-6, true),
        "{gone}"
    );
}

#[test]
fn path_lists_are_shared_by_as_many_entries_as_have_them() {
    let mut bench = router();
    for command in ["show fib path-lists", "show fib paths"] {
        let (text, all) = show(&mut bench, command);
        let of = |paths: &[&str]| {
            let says = |list: &Value| {
                let there = list["paths"].as_array().expect("a list");
                there.len() == paths.len()
                    && there
                        .iter()
                        .zip(paths)
                        .all(|(path, want)| path.as_str().is_some_and(|p| p.contains(want)))
            };
            only(&all, |list| list["proto"] == "ip4" && says(list)).clone()
        };
        let both = of(&["10.1.0.2 pg1", "10.2.0.2 pg2"]);
        assert_eq!(number(&both["locks"]), 2, "{both}");
        // Five routes, and the neighbour's own.
        let single = of(&["10.1.0.2 pg1"]);
        assert_eq!(number(&single["locks"]), 6, "{single}");
        assert_eq!(number(&of(&["10.2.0.2 pg2"])["locks"]), 2);
        let line = format!(
            "path-list:[{}] ip4 locks:6 leads to [@{}]",
            single["index"], single["adjacency"]
        );
        assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
        // Its adjacency is an alias of the neighbour's.
        let (_, alias) = show(&mut bench, &format!("show adj {}", single["adjacency"]));
        assert_eq!(only(&alias, |_| true)["alias_of"], neighbor(&mut bench, "10.1.0.2")["index"]);
    }
    let (_, all) = show(&mut bench, "show fib path-lists");
    let first = all[0].clone();
    let (text, _) = show(&mut bench, &format!("show fib path-lists {}", first["index"]));
    assert!(text.starts_with(&format!("path-list:[{}]", first["index"])), "{text}");
    assert_eq!(bench.cli("show fib path-lists 4711").expect_err("none").code(), -6);
}

#[test]
fn sources_stand_by_number_and_by_priority() {
    let mut bench = router();
    let column = |all: &Value, name: &str| -> Vec<u64> {
        all.as_array().expect("a list").iter().map(|source| number(&source[name])).collect()
    };
    let (text, by_id) = show(&mut bench, "show fib source");
    assert!(column(&by_id, "id").is_sorted() && !column(&by_id, "priority").is_sorted(), "{text}");
    let cli = only(&by_id, |source| source["source"] == "CLI");
    assert_eq!((number(&cli["id"]), number(&cli["priority"])), (9, 0x81));
    assert!(text.lines().any(|line| line.split_whitespace().eq(["9", "CLI", "129"])), "{text}");
    let (_, by_priority) = show(&mut bench, "show fib source prio");
    assert!(column(&by_priority, "priority").is_sorted());
    assert_eq!(column(&by_priority, "id").len(), column(&by_id, "id").len());
}

#[test]
fn local_protocols_name_their_nodes() {
    let mut bench = router();
    for (command, number_of_icmp, node) in
        [("show ip local", 1, "ip4-icmp-input"), ("show ip6 local", 58, "ip6-icmp-input")]
    {
        let (text, all) = show(&mut bench, command);
        let icmp = only(&all, |one| number(&one["number"]) == number_of_icmp);
        assert_eq!(icmp["node"], node, "{text}");
        let words = [&*number_of_icmp.to_string(), node];
        let line = |line: &str| {
            words.iter().all(|word| line.split_whitespace().any(|shown| shown == *word))
        };
        assert!(text.lines().any(line), "{text}");
        assert!(bench.world.node(node).is_some());
        only(&all, |one| number(&one["number"]) == 17);
    }
}

#[test]
fn a_replicate_has_an_output_for_each_link() {
    let mut bench = router();
    run(&mut bench, "create packet-generator interface pg3 hw-addr 02:fe:00:00:00:03");
    run(&mut bench, "set interface state pg3 up");
    run(&mut bench, "set interface ip address pg3 10.3.0.1/24");
    run(&mut bench, "ip mroute add 239.1.1.1 via pg1 Accept");
    run(&mut bench, "ip mroute add 239.1.1.1 via pg2 Forward via pg3 Forward");
    for n in 0..4 {
        let (text, all) = show(&mut bench, "show replicate");
        let entry = only(&all, |one| {
            one["group"].as_str().is_some_and(|group| group.contains("239.1.1.1"))
        });
        let outputs: Vec<&str> =
            entry["outputs"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        assert_eq!(outputs.len(), 2, "{entry}");
        for (output, link) in outputs.iter().zip(["pg2", "pg3"]) {
            assert!(output.starts_with(&format!("mcast: {link} mtu:9000 ")), "{output}");
        }
        let head = format!(
            "[@{i}]: dpo-replicate: [index:{i} buckets:2 to:[{n}:{bytes}]]",
            i = entry["index"],
            bytes = n * (20 + 8 + 20)
        );
        assert!(text.lines().any(|line| line == head), "{head}: {text}");
        assert_eq!(show(&mut bench, &format!("show replicate {}", entry["index"])).1[0], *entry);
        send(&mut bench, "239.1.1.1");
    }
    assert_eq!(bench.cli("show replicate 4711").expect_err("none").code(), -6);
}

#[test]
fn memory_grows_by_what_is_added_and_shrinks_again() {
    let mut bench = router();
    let at = |all: &Value, list: &str, key: &str, name: &str, column: &str| {
        number(&only(&all[list], |one| one[key] == name)[column])
    };
    let (text, before) = show(&mut bench, "show fib memory");
    for list in ["tables", "objects"] {
        for one in before[list].as_array().expect("a list") {
            let name = one["safi"].as_str().or(one["name"].as_str()).expect("a name");
            let numbers = one.as_object().expect("an object").values().filter_map(Value::as_u64);
            let want: Vec<String> = numbers.map(|n| n.to_string()).collect();
            let shows = |line: &str| {
                line.strip_prefix(name)
                    .is_some_and(|rest| rest.split_whitespace().eq(want.iter().map(String::as_str)))
            };
            assert!(text.lines().any(shows), "{name} {want:?}: {text}");
        }
    }
    let used = |all: &Value, name: &str| at(all, "objects", "name", name, "in_use");
    let entries = show(&mut bench, "show fib entry").1.as_array().expect("a list").len() as u64;
    // Entries of links' own addresses aren't shown.
    assert!(used(&before, "entry") >= entries, "{before}");
    assert_eq!(used(&before, "load-balance"), 1);
    assert_eq!(at(&before, "tables", "safi", "IPv4 unicast", "number"), 2);
    let lists = show(&mut bench, "show fib path-lists").1;
    assert_eq!(used(&before, "path-list"), lists.as_array().expect("a list").len() as u64);
    let paths = |list: &Value| list["paths"].as_array().expect("a list").len() as u64;
    assert_eq!(
        used(&before, "path"),
        lists.as_array().expect("a list").iter().map(paths).sum::<u64>()
    );

    run(&mut bench, "ip route add 60.0.0.0/24 count 5000 via 10.1.0.2 pg1");
    let (_, full) = show(&mut bench, "show fib memory");
    assert_eq!(used(&full, "entry"), used(&before, "entry") + 5000);
    assert_eq!(used(&full, "path-list"), used(&before, "path-list"), "one that is there");
    let routes = |all: &Value, column| at(all, "tables", "safi", "IPv4 unicast", column);
    assert_eq!(routes(&full, "routes"), routes(&before, "routes") + 5000);
    assert!(routes(&full, "lookup_bytes") >= routes(&before, "lookup_bytes") + 5000);
    assert!(routes(&full, "prefix_bytes") > routes(&before, "prefix_bytes"));
    assert!(
        at(&full, "objects", "name", "entry", "bytes")
            >= 5000 * at(&full, "objects", "name", "entry", "size")
    );

    run(&mut bench, "ip route del 60.0.0.0/24 count 5000");
    bench.world.qsbr.collect();
    let (_, after) = show(&mut bench, "show fib memory");
    assert_eq!(after["tables"], before["tables"]);
    assert_eq!(used(&after, "entry"), used(&before, "entry"));
    run(&mut bench, "ip mroute add 239.1.1.1 via pg1 Accept");
    let (_, groups) = show(&mut bench, "show fib memory");
    assert_eq!((used(&before, "mfib-entry"), used(&groups, "mfib-entry")), (0, 1));
    assert_eq!(at(&groups, "tables", "safi", "IPv4 multicast", "number"), 1);
}

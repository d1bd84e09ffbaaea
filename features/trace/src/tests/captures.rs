// SPDX-License-Identifier: Apache-2.0
//! Captures into files.

use super::*;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::path::Path;

/// Name and link type of interfaces; interface, direction, comment and bytes of packets.
pub type Capture = (Vec<(String, DataLink)>, Vec<(u32, u32, Option<String>, Vec<u8>)>);

pub fn read(path: &Path) -> Capture {
    let mut reader = PcapNgReader::new(File::open(path).expect("a file")).expect("a section");
    let (mut interfaces, mut packets) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.expect("well-formed") {
            Block::InterfaceDescription(b) => {
                use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption as O;
                let name = b
                    .options
                    .iter()
                    .find_map(|o| if let O::IfName(n) = o { Some(n.to_string()) } else { None });
                assert!(b.options.contains(&O::IfTsResol(9)));
                interfaces.push((name.expect("a name"), b.linktype));
            }
            Block::EnhancedPacket(b) => {
                let flags = b.options.iter().find_map(|o| {
                    if let EnhancedPacketOption::Flags(f) = o { Some(*f) } else { None }
                });
                let comment = b.options.iter().find_map(|o| {
                    if let EnhancedPacketOption::Comment(c) = o {
                        Some(c.to_string())
                    } else {
                        None
                    }
                });
                assert!(b.timestamp.as_secs() > 1_600_000_000, "{:?}", b.timestamp);
                packets.push((
                    b.interface_id,
                    flags.expect("a direction"),
                    comment,
                    b.data.to_vec(),
                ));
            }
            other => panic!("{other:?}"),
        }
    }
    (interfaces, packets)
}

#[suite::test]
fn a_capture_has_names_directions_and_reasons() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.pcapng");
    run(&mut bench, &format!("pcap trace rx tx drop file {} max 10", path.display()));
    receive(&mut bench, 0, [ping(OWN)]);
    bench.send("loop1-output", &dns(), |b| b.rx_if = 0);
    bench.settle();
    assert!(run(&mut bench, "pcap trace status").contains("5 of 10 packets"));
    assert!(
        bench.cli("pcap trace rx").expect_err("one at a time").to_string().contains("runs already")
    );
    let said = run(&mut bench, "pcap trace off");
    assert!(said.starts_with("5 packets in /"), "{said}");
    let (interfaces, packets) = read(&path);
    let names: Vec<_> = interfaces.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["loop0", "loop1"]);
    assert!(interfaces.iter().all(|(_, link)| *link == DataLink::ETHERNET));
    let why = Some("dropped: ethernet-input: no feature takes this Ethernet type".to_string());
    // Sent to loop1 comes back in there, and nobody takes it.
    assert_eq!(packets[0], (0, 1, None, ping(OWN)));
    assert_eq!(packets[1], (0, 1, why.clone(), ping(OWN)));
    assert_eq!(packets[2], (1, 2, None, dns()));
    assert_eq!(packets[3], (1, 1, None, dns()));
    assert_eq!(packets[4], (1, 1, why, dns()));
    // Nothing is left on the arcs.
    let before =
        bench.world.stats.simple(graph::counters::CALLS).sum(bench.index("pcap-capture").at());
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(
        bench.world.stats.simple(graph::counters::CALLS).sum(bench.index("pcap-capture").at()),
        before
    );
    assert!(bench.cli("pcap trace off").is_err());
    assert!(run(&mut bench, "pcap trace status").contains("last: 5 packets"));
}

#[suite::test]
fn captures_of_other_directions_run_beside_each_other() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let [moved, dropped, nodes] =
        ["moved", "dropped", "nodes"].map(|name| folder.path().join(name));
    run(&mut bench, &format!("pcap trace rx tx file {}", moved.display()));
    run(&mut bench, &format!("pcap trace drop max-bytes-per-pkt 40 file {}", dropped.display()));
    run(&mut bench, &format!("pcap dispatch trace on max 100 file {}", nodes.display()));
    for (line, why) in [
        ("pcap trace rx drop", "a capture of rx tx runs already"),
        ("pcap trace drop", "a capture of drop runs already"),
        ("pcap dispatch trace on", "a capture of dispatch runs already"),
    ] {
        let error = bench.cli(line).expect_err(line);
        assert_eq!(error.code(), -7);
        assert!(error.to_string().contains(why), "{line}: {error}");
    }
    receive(&mut bench, 0, [ping(OWN)]);
    let status = run(&mut bench, "pcap trace status");
    for (line, part) in status.lines().zip(["rx tx of any", "drop of any", "dispatch of any"]) {
        assert!(line.starts_with(&format!("Capturing {part}")), "{status}");
    }
    assert_eq!(json(&mut bench, "pcap trace status")["captures"].as_array().map(Vec::len), Some(3));
    let said = run(&mut bench, "pcap trace drop off");
    assert_eq!(said, format!("1 packets in {}\n", dropped.display()));
    assert!(bench.cli("pcap trace drop off").is_err());
    receive(&mut bench, 0, [dns()]);
    let said = run(&mut bench, "pcap trace off");
    assert_eq!(said, format!("2 packets in {}\n", moved.display()));
    let said = run(&mut bench, "pcap dispatch trace off");
    assert!(said.contains(" packets in "), "{said}");
    let why = Some("dropped: ethernet-input: no feature takes this Ethernet type".to_string());
    assert_eq!(read(&dropped).1, [(0, 1, why, ping(OWN)[..40].to_vec())]);
    assert_eq!(read(&moved).1, [(0, 1, None, ping(OWN)), (0, 1, None, dns())]);
    let (_, seen) = read(&nodes);
    let fronts = seen.iter().filter(|(.., bytes)| dispatched(bytes).0[0] == "ethernet-input");
    assert_eq!(fronts.count(), 2);
    // Two that end at once are told of both.
    run(&mut bench, &format!("pcap trace rx file {}", moved.display()));
    run(&mut bench, &format!("pcap trace drop file {}", dropped.display()));
    receive(&mut bench, 0, [ping(OWN)]);
    assert_eq!(json(&mut bench, "pcap trace off").as_array().map(Vec::len), Some(2));
}

/// A packet of a dispatch capture: its strings, and what is behind them.
fn dispatched(bytes: &[u8]) -> (Vec<&str>, &[u8]) {
    assert_eq!(bytes[..3], [1, 0, 4], "version and number of strings");
    let mut rest = &bytes[8..];
    let mut texts = vec![];
    for _ in 0..4 {
        let end = rest.iter().position(|byte| *byte == 0).expect("a zero");
        texts.push(std::str::from_utf8(&rest[..end]).expect("UTF-8"));
        rest = &rest[end + 1..];
    }
    (texts, rest)
}

#[suite::test]
fn packets_are_captured_in_front_of_each_node() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dispatch");
    let on = format!("pcap dispatch trace on max 100 file {} buffer-trace", path.display());
    assert!(bench.cli(&format!("{on} nothing 2")).is_err());
    assert!(bench.cli("pcap dispatch trace").is_err());
    run(&mut bench, &format!("{on} test-input 1"));
    receive(&mut bench, 0, [ping(OWN), dns()]);
    assert!(run(&mut bench, "pcap dispatch trace status").contains("dispatch of any"));
    run(&mut bench, "pcap dispatch trace off");
    let (interfaces, packets) = read(&path);
    assert_eq!(interfaces, [("dispatch".to_string(), DataLink::VPP_DISPATCH)]);
    let seen: Vec<_> = packets.iter().map(|(.., bytes)| (bytes[3], dispatched(bytes))).collect();
    let front: Vec<_> =
        seen.iter().filter(|(_, (texts, _))| texts[0] == "ethernet-input").collect();
    assert_eq!(front.len(), 2);
    for ((hint, (texts, bytes)), (traced, want)) in
        front.into_iter().zip([(true, ping(OWN)), (false, dns())])
    {
        assert_eq!((*hint, *bytes), (1, &want[..]));
        let about = format!(
            "received on loop0, {} bytes{}",
            want.len(),
            if traced { ", traced" } else { "" }
        );
        assert_eq!(texts[1..], [&*about, "", ""]);
    }
    assert!(seen.iter().any(|(_, (texts, _))| texts[0] == "error-drop"), "{seen:?}");
    assert_eq!(shown(&mut bench).len(), 1, "the trace was added");
    // Nobody looks any more.
    assert!(bench.rt.observe(None).is_none());
}

#[suite::test]
fn drops_are_captured_by_reason() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let why = "no feature takes this Ethernet type";
    let reasons = bench.world.reasons();
    let name =
        reasons.iter().find(|r| &*r.node == "ethernet-input" && r.text == why).expect("one").reason;
    let forms = [format!("{{ethernet-input}}.{{{name}}}"), format!("ethernet-input.{name}")];
    for (n, form) in forms.iter().enumerate() {
        let path = folder.path().join(n.to_string());
        run(
            &mut bench,
            &format!("pcap trace drop error {} file {}", cli::quote(form), path.display()),
        );
        assert!(run(&mut bench, "pcap trace status").contains(&format!("drop by {form} of any")));
        receive(&mut bench, 0, [ping(OWN), vec![2; 9], ping(OTHER), ping(OWN)]);
        assert!(
            run(&mut bench, "pcap trace off").starts_with("2 packets"),
            "the others have other reasons"
        );
        let (_, packets) = read(&path);
        let comment = Some(format!("dropped: ethernet-input: {why}"));
        assert_eq!(packets, [(0, 1, comment.clone(), ping(OWN)), (0, 1, comment, ping(OWN))]);
    }
    for (line, part) in [
        ("pcap trace drop error ethernet-input.nothing", "for the reason `nothing'"),
        ("pcap trace drop error nonsense", "expected a node and a reason"),
        ("pcap trace rx error ethernet-input.x", "capture `drop'"),
    ] {
        let error = bench.cli(line).expect_err(line).to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
}

#[suite::test]
fn a_capture_ends_by_itself_and_keeps_what_was_asked_for() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("few");
    let file = path.display();
    run(
        &mut bench,
        &format!(
            "pcap trace rx intfc loop0 max 2 max-bytes-per-pkt 40 filter {{icmp}} file {file}"
        ),
    );
    receive(&mut bench, 1, [ping(OWN)]);
    receive(&mut bench, 0, [dns(), ping(OWN), ping(OTHER), ping(OWN)]);
    let running = |bench: &mut Bench| !json(bench, "pcap trace status")["running"].is_null();
    for _ in 0..1000 {
        if !running(&mut bench) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        bench.settle();
    }
    assert!(!running(&mut bench));
    let (_, packets) = read(&path);
    let bytes: Vec<_> = packets.into_iter().map(|(.., bytes)| bytes).collect();
    assert_eq!(bytes, [&ping(OWN)[..40], &ping(OTHER)[..40]]);
    assert!(bench.cli("pcap trace rx file ../x").is_err());
    assert!(
        bench
            .cli("pcap trace max 3")
            .expect_err("what?")
            .to_string()
            .contains("choose rx, tx or drop")
    );
    assert!(
        bench.cli("pcap trace rx intfc loop7").expect_err("none").to_string().contains("loop7")
    );
}

#[suite::test]
fn interfaces_that_come_later_are_captured_too() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("later");
    run(&mut bench, &format!("pcap trace rx intfc any file {}", path.display()));
    run(&mut bench, &format!("create loopback interface mac {OWN}"));
    receive(&mut bench, 2, [ping(OWN)]);
    run(&mut bench, "delete loopback interface intfc loop2");
    run(&mut bench, "pcap trace off");
    let (interfaces, packets) = read(&path);
    // Written when the capture ended: by then the interface was gone.
    assert_eq!((interfaces[0].0.as_str(), packets.len()), ("loop2", 1));
    let arc = bench.world.arc("device-input").expect("there");
    for i in bench.world.get::<Interfaces>().list() {
        assert!(bench.world.features_of(arc, i.sw_if).is_empty(), "{}", i.name);
    }
}

#[suite::test]
fn what_stood_before_an_ip_packet_is_captured_with_its_drop() {
    use crate::pcap::node::Capture;
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("drop");
    run(&mut bench, &format!("pcap trace drop file {}", path.display()));
    let node = bench.index("pcap-capture");
    bench.settle();
    assert!(bench.rt.node_mut::<Capture>(node).is_some_and(|n| n.taps[0].is_some()));
    // As ip4-input would drop it: the Ethernet header was pulled.
    bench.send("error-drop", &ping(OWN), |b| {
        b.rx_if = 1;
        b.mark_l2();
        assert!(b.pull(14));
    });
    // As a node would that nobody prepared.
    bench.send("error-drop", &ping(OWN)[14..], |b| {
        b.rx_if = 1;
        b.mark_l2();
    });
    // As a feature would where packets leave: another Ethernet header, whose first byte could begin
    // an IP header, stands there.
    let leaving = ping("45:00:00:00:00:01");
    bench.send("error-drop", &leaving, |b| {
        b.rx_if = 1;
        b.mark_l2();
        assert!(b.pull(14));
        b.mark_l3();
        assert!(b.rewind(14));
    });
    run(&mut bench, "pcap trace off");
    let (interfaces, packets) = read(&path);
    assert_eq!(
        interfaces.iter().map(|(_, link)| *link).collect::<Vec<_>>(),
        [DataLink::ETHERNET, DataLink::RAW]
    );
    assert_eq!((&packets[0].3, &packets[1].3[..]), (&ping(OWN), &ping(OWN)[14..]));
    assert_eq!((packets[2].0, &packets[2].3), (packets[0].0, &leaving));
    assert_eq!(packets[0].2.as_deref(), Some("dropped: no reason"));
}

/// Runs the graph until no capture runs, and gives what is said of the last one.
fn ended(bench: &mut Bench) -> serde_json::Value {
    for _ in 0..1000 {
        let status = json(bench, "pcap trace status");
        if status["running"].is_null() {
            return status["last"].clone();
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        bench.settle();
    }
    panic!("the capture doesn't end: {}", run(bench, "pcap trace status"));
}

#[suite::test]
fn a_capture_ends_with_its_interface() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("one");
    run(&mut bench, &format!("pcap trace rx drop intfc loop1 file {}", path.display()));
    receive(&mut bench, 1, [ping(OWN)]);
    run(&mut bench, "delete loopback interface intfc loop0");
    assert!(
        run(&mut bench, "pcap trace status").contains("2 of 1000 packets"),
        "it isn't of loop0"
    );
    run(&mut bench, "delete loopback interface intfc loop1");
    // Its index goes to another one, which isn't captured.
    run(&mut bench, &format!("create loopback interface mac {OWN}"));
    run(&mut bench, &format!("create loopback interface mac {OWN}"));
    let last = ended(&mut bench);
    assert_eq!(
        (&last["ended"], &last["packets"]),
        (&"loop1 was deleted".into(), &2.into()),
        "{last}"
    );
    let status = run(&mut bench, "pcap trace status");
    assert!(
        status.contains("last: 2 packets in ")
            && status.ends_with(", ended since loop1 was deleted\n")
    );
    let (interfaces, packets) = read(&path);
    assert_eq!(interfaces, [("loop1".to_string(), DataLink::ETHERNET)]);
    assert_eq!(
        packets.into_iter().map(|(.., bytes)| bytes).collect::<Vec<_>>(),
        [ping(OWN), ping(OWN)]
    );
    let arc = bench.world.arc("device-input").expect("there");
    for i in bench.world.get::<Interfaces>().list() {
        assert!(bench.world.features_of(arc, i.sw_if).is_empty(), "{}", i.name);
    }
    let error = bench.cli("pcap trace off").expect_err("none runs").to_string();
    assert!(error.contains("no capture runs"), "{error}");
}

/// The error indices of an interface's nodes go to other nodes, whose drops are none of the
/// capture's.
#[suite::test]
fn a_capture_of_a_reason_ends_with_the_interface_whose_node_gives_it() {
    let mut bench = bench();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("down");
    let reasons = bench.world.reasons();
    let down = reasons.iter().find(|r| &*r.node == "loop1-output" && r.drop).expect("one");
    let name = format!("loop1-output.{}", down.reason);
    run(
        &mut bench,
        &format!("pcap trace drop error {} file {}", cli::quote(&name), path.display()),
    );
    run(&mut bench, "set interface state loop1 down");
    bench.send("loop1-output", &dns(), |b| b.rx_if = 1);
    bench.settle();
    run(&mut bench, "delete loopback interface intfc loop1");
    assert_eq!(ended(&mut bench)["ended"], "loop1 was deleted");
    let (_, packets) = read(&path);
    let comment = Some(format!("dropped: loop1-output: {}", down.text));
    assert_eq!(packets, [(0, 1, comment, dns())]);
}

// SPDX-License-Identifier: Apache-2.0
//! The binary API under load: many routes by one client while packets pass, and dumps that nobody
//! reads.
//!
//! Covers: bin/ferrovia, features/fib, drivers/pg.

use fixture::api::{ApiClient, route};
use fixture::{Router, eventually};
use std::time::Instant;
use testkit::lab;

/// Routes that the tests load.
const ROUTES: u32 = 100_000;

fn router(lab: &lab::Lab) -> Router {
    let router = Router::start(&lab.netns("router"), "cpu { workers 1 }");
    router.script(
        "create packet-generator interface pg0\n\
         create packet-generator interface pg1\n\
         set interface state pg0 up\n\
         set interface state pg1 up\n\
         set interface ip address pg0 10.0.0.1/24\n\
         set interface ip address pg1 10.0.1.1/24\n\
         set ip neighbor pg1 10.0.1.2 02:fe:00:00:00:02 static\n\
         ip route add 30.0.0.0/8 via 10.0.1.2 pg1\n",
    );
    router
}

fn nth(i: u32) -> u32 {
    0x1400_0000 + (i << 8)
}

/// Sends `ROUTES` routes without waiting for answers, reads all answers, and gives how many were
/// refused.
fn load(client: &mut ApiClient, add: bool) -> usize {
    let reply = client.id("ip_route_add_del_reply");
    let socket = client.socket.try_clone().expect("a second handle");
    let requests: Vec<u8> = (0..ROUTES)
        .flat_map(|i| {
            client.request("ip_route_add_del", i, &route(add, nth(i), 24, 2, [10, 0, 1, 2]))
        })
        .collect();
    let start = Instant::now();
    let refused = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::io::Write::write_all(&mut &socket, &requests).expect("a daemon that reads")
        });
        let answer = |i: u32| {
            let (id, body) = client.receive().expect("an answer");
            assert_eq!((id, &body[..4]), (reply, &i.to_be_bytes()[..]), "in order");
            i32::from_be_bytes(body[4..8].try_into().expect("four bytes"))
        };
        (0..ROUTES).map(answer).filter(|retval| *retval != 0).count()
    });
    let word = if add { "added" } else { "deleted" };
    eprintln!(
        "{ROUTES} routes {word}: {:.0} a second",
        f64::from(ROUTES) / start.elapsed().as_secs_f64()
    );
    refused
}

#[test]
fn routes_by_the_hundred_thousand_cost_no_packet() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let router = router(&lab);
    let mut client = ApiClient::connect(&router.file("api.sock"), "test");
    const PACKETS: u64 = 300_000;
    router.run(&format!(
        "packet-generator new {{ name s limit {PACKETS} rate 1e5 size 64-64 interface pg0 node ip4-input worker 0 \
         data {{ UDP: 10.0.0.2 -> 30.0.0.1-30.0.3.255 UDP: 1 -> 2 incrementing 8 }} }}"
    ));
    router.run("packet-generator enable-stream s");
    assert_eq!(load(&mut client, true), 0);
    let shown = router.run("show ip fib 20.0.7.0/24");
    assert!(shown.contains("20.0.7.0/24") && shown.contains("10.0.1.2"), "{shown}");
    assert_eq!(load(&mut client, false), 0);
    assert_eq!(load(&mut client, false), 0, "what isn't there is as good as gone");
    assert!(router.ctl("show ip fib 20.0.7.0/24").is_err());
    // Every change is in the log, in few lines.
    eventually("the log of all changes", || {
        let lines = router.json("show logging");
        let lines =
            lines.as_array().into_iter().flatten().filter(|line| line["class"] == "api-change");
        let texts: Vec<&str> = lines.filter_map(|line| line["text"].as_str()).collect();
        let changes = texts.iter().map(|text| {
            let (by, what) = text.split_once(", client \"test\": ").expect("a client");
            assert!(by.contains(", process ") && what.contains("ip_route_add_del"), "{text}");
            what.split_once(" more in ").map_or(1, |(more, _)| more.parse().expect("a number"))
        });
        let all: u32 = changes.sum();
        assert!(texts.len() < 100 && all <= 3 * ROUTES, "{texts:?}");
        (all == 3 * ROUTES).then_some(())
    });
    eventually("the end of the stream", || {
        (!router.run("show packet-generator").contains("Yes")).then_some(())
    });
    let route = router.run("show ip fib 30.0.0.0/8");
    assert!(route.contains(&format!("to:[{PACKETS}:")), "{route}");
    let interfaces = router.json("show interface");
    let pg1 =
        interfaces.as_array().into_iter().flatten().find(|i| i["name"] == "pg1").expect("pg1");
    // The router's own packets leave there too.
    let sent = pg1["counters"]["tx_packets"].as_u64().unwrap_or(0);
    assert!(
        (PACKETS..PACKETS + 3).contains(&sent),
        "{sent} packets\n{}",
        router.run("show errors")
    );
}

/// Kilobytes of memory that a process has now.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a living process");
    let line = status.lines().find(|l| l.starts_with("VmRSS")).expect("its size");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}

#[test]
fn a_dump_streams_and_is_not_held_for_who_does_not_read() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let router = router(&lab);
    let path = router.file("api.sock");
    let mut client = ApiClient::connect(&path, "test");
    assert_eq!(load(&mut client, true), 0);
    // Table 0, IPv4, no name.
    let table = [0; 4 + 1 + 64];
    let before = resident(router.id());
    let mut lazy: Vec<_> = (0..8).map(|_| ApiClient::connect(&path, "test")).collect();
    for reader in &mut lazy {
        let dump = reader.request("ip_route_dump", 9, &table);
        (0..10).for_each(|_| reader.send(&dump));
    }
    let mut requests = client.request("ip_route_dump", 9, &table);
    requests.extend(client.request("control_ping", 9, &[]));
    client.send(&requests);
    let (details, end) = (client.id("ip_route_details"), client.id("control_ping_reply"));
    let mut routes = 0;
    loop {
        match client.receive().expect("an answer").0 {
            id if id == details => routes += 1,
            id if id == end => break,
            id => panic!("message {id} in a dump"),
        }
    }
    assert!(routes > ROUTES, "{routes} routes");
    // A dump of these routes has 25 MB; what waits for each reader is bounded.
    let grown = resident(router.id()).saturating_sub(before);
    assert!(grown < 32 << 10, "{grown} KB more");
}

#[test]
fn requests_are_traced_saved_and_asked_once_more() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let router = router(&lab);
    let mut client = ApiClient::connect(&router.file("api.sock"), "test");
    let mut ask = |message: Vec<u8>| {
        client.send(&message);
        client.receive().expect("an answer")
    };
    router.run("api trace on nitems 100");
    let other = ApiClient::connect(&router.file("api.sock"), "test");
    let fields = |add| route(add, nth(1), 24, 2, [10, 0, 1, 2]);
    let request = |add| other.request("ip_route_add_del", 7, &fields(add));
    ask(request(true));
    ask(other.request("control_ping", 8, &[]));
    router.run("api trace off");
    let name = format!("ferrovia-api-trace-{}", std::process::id());
    let saved = router.run(&format!("api trace save {name}"));
    let file = format!("/tmp/{name}");
    assert!(saved.contains(&file), "{saved}");
    assert!(router.ctl(&format!("api trace save {name}")).is_err(), "a file is not overwritten");
    assert!(router.ctl("api trace save ../x").unwrap_err().contains("without `/`"));
    let dump = router.json(&format!("api trace dump {file}"));
    let dumped =
        dump.as_array().into_iter().flatten().find(|r| r["message"] == "ip_route_add_del_b8ecfe0d");
    let fields = &dumped.unwrap_or_else(|| panic!("{dump:#}"))["fields"];
    assert_eq!(
        (&fields["is_add"], &fields["route"]["prefix"]),
        (&true.into(), &"20.0.1.0/24".into()),
        "{fields:#}"
    );

    ask(request(false));
    assert!(router.ctl("show ip fib 20.0.1.0/24").is_err());
    let replayed = router.json(&format!("api trace replay {file}"));
    std::fs::remove_file(&file).expect("the file that was saved");
    assert_eq!(replayed["refused"], 0, "{replayed}");
    assert!(router.run("show ip fib 20.0.1.0/24").contains("10.0.1.2"));

    // The same in VPP's form; answers are recorded, but aren't asked once more.
    router.run("api trace free");
    router.run("api trace on");
    router.run("api trace tx on");
    ask(request(true));
    let recorded = router.json("api trace dump-json");
    let names: Vec<_> =
        recorded.as_array().into_iter().flatten().map(|r| r["_msgname"].clone()).collect();
    assert_eq!(names, ["ip_route_add_del", "ip_route_add_del_reply"], "{recorded:#}");
    assert_eq!(recorded[0]["_crc"], "b8ecfe0d");
    router.run("api trace off");
    router.run("api trace tx off");
    router.run(&format!("api trace save-json {name}"));
    ask(request(false));
    let replayed = router.json(&format!("api trace replay-json {file}"));
    std::fs::remove_file(&file).expect("the file that was saved");
    assert_eq!((&replayed["asked"], &replayed["refused"]), (&1.into(), &0.into()), "{replayed}");
    assert!(router.run("show ip fib 20.0.1.0/24").contains("10.0.1.2"));
    router.run("api trace free");
    assert!(router.run("api trace status").contains("off, 0 requests recorded"));

    let statistics = router.json("show api statistics");
    let row =
        statistics.as_array().into_iter().flatten().find(|r| r["message"] == "ip_route_add_del");
    assert_eq!(row.unwrap_or_else(|| panic!("{statistics:#}"))["received"], 6);
    assert!(router.run("show api clients").contains("test"));
}

#[test]
fn a_plugin_that_is_off_brings_no_messages() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let netns = lab.netns("router");
    let mut router = Router::start(&netns, "");
    let table = |router: &Router| router.run("show api message-table");
    assert!(table(&router).contains("want_ping_finished_events"));
    router.kill();
    let router = Router::start(&netns, "plugins { plugin ping_plugin.so { disable } }");
    assert!(
        !table(&router).contains("want_ping_finished_events")
            && table(&router).contains("ip_route_add_del")
    );
}

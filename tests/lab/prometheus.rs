// SPDX-License-Identifier: Apache-2.0
//! Metrics of a running daemon, as scrapers get them.
//!
//! Covers: bin/ferrovia, features/system.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use fixture::{Router, eventually};
use testkit::lab;

fn scrape(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).expect("a socket");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: router\r\n\r\n").expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(body.ends_with("# EOF\n"));
    body.into()
}

fn value(text: &str, series: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn metrics_are_what_the_daemon_shows() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let netns = lab.netns("router");
    let router = Router::start(
        &netns,
        "cpu { workers 1 } statseg { update-interval 0.05 } prometheus { listen 127.0.0.1:9482 }",
    );
    let path = router.file("metrics.sock");
    router.script(
        "create packet-generator interface pg0\n\
         create packet-generator interface pg1\n\
         set interface state pg0 up\n\
         set interface state pg1 up\n\
         ip table add 10\n\
         ip route add 192.0.2.0/24 table 10 via drop\n\
         set interface ip table pg1 10\n\
         ip6 table add 11\n\
         set interface ip6 table pg1 11\n\
         packet-generator new { name s limit 5000 size 64-64 interface pg0 node pg1-output data { hex 0x00112233 } }\n\
         packet-generator enable-stream\n",
    );
    let sent = r#"ferrovia_interface_transmit_packets_total{interface="pg1"}"#;
    let text = eventually("all packets", || {
        let text = scrape(&path);
        (value(&text, sent) >= Some(5000)).then_some(text)
    });
    let shown = router.json("show interface");
    let pg1 = shown
        .as_array()
        .and_then(|all| all.iter().find(|i| i["name"] == "pg1"))
        .expect("pg1 is shown");
    let bytes = value(&text, r#"ferrovia_interface_transmit_bytes_total{interface="pg1"}"#);
    assert_eq!(bytes, Some(5000 * 64));
    let counters = pg1.to_string();
    assert!(counters.contains("5000") && counters.contains("320000"), "{counters}");
    let vectors = ["main", "wk_0"].map(|worker| {
        let series = format!(r#"ferrovia_node_vectors_total{{node="pg1-tx",worker="{worker}"}}"#);
        value(&text, &series).unwrap_or(0)
    });
    assert_eq!(vectors.iter().sum::<u64>(), 5000);
    assert_eq!(value(&text, "ferrovia_workers"), Some(1));
    eventually("the table", || {
        let text = scrape(&path);
        let routes = value(&text, r#"ferrovia_routes{vrf="10",family="ip4"}"#)? > 1;
        let bound = r#"ferrovia_interface_vrf{interface="pg1",family="ip4",vrf="10"}"#;
        (routes && value(&text, bound) == Some(1)).then_some(())
    });

    eventually("the table of IPv6, and states", || {
        let text = scrape(&path);
        let bound = r#"ferrovia_interface_vrf{interface="pg1",family="ip6",vrf="11"}"#;
        let up = |what: &str, name: &str| {
            value(&text, &format!("ferrovia_interface_{what}_up{{interface=\"{name}\"}}"))
        };
        let states = [("admin", "pg1"), ("link", "pg1"), ("admin", "local0")]
            .map(|(what, name)| up(what, name));
        (value(&text, bound) == Some(1) && states == [Some(1), Some(1), Some(0)]).then_some(())
    });
    router.run("set interface state pg0 down");
    eventually("pg0 is down", || {
        (value(&scrape(&path), r#"ferrovia_interface_admin_up{interface="pg0"}"#) == Some(0))
            .then_some(())
    });
    assert!(value(&scrape(&path), "ferrovia_process_resident_memory_bytes") > Some(1 << 20));

    // Deleted objects have no metrics any more.
    router.run("set interface ip table pg1 0");
    router.run("ip table del 10");
    eventually("no table", || (!scrape(&path).contains(r#"vrf="10""#)).then_some(()));

    let fetch = "import urllib.request as u; r = u.urlopen('http://127.0.0.1:9482/metrics', timeout=20); \
                 print(r.headers['Content-Type']); print(r.read().decode())";
    let tcp = netns.command("python3").args(["-c", fetch]).ok();
    assert!(tcp.starts_with("application/openmetrics-text; version=1.0.0"), "{tcp}");
    assert_eq!(value(&tcp, sent), Some(5000));

    // Clients that send half a request, or none, hinder neither other clients nor the end.
    let half: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = UnixStream::connect(&path).expect("a socket");
            // It may have been sent away already.
            let _ = stream.write_all(b"GET /metr");
            stream
        })
        .collect();
    assert_eq!(value(&scrape(&path), sent), Some(5000));
    router.run("show version");
    router.stop();
    drop(half);
    assert!(!path.exists());
}

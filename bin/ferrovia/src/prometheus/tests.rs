// SPDX-License-Identifier: Apache-2.0

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use proptest::prelude::*;
use stats::metric::{Kind, SERIES, Series, Snapshot};
use stats::{Registry, Space};

use super::http::{CONNECTIONS, REQUEST, Response, answer};
use super::metrics::{OMITTED, all, sample_name};
use super::*;

/// A segment with something for every metric.
fn segment() -> Registry {
    let registry = graph::counters::registry(2, crate::plugins::ALL.iter());
    for name in ["boottime", "last_update", "last_stats_clear"] {
        registry.scalar(&format!("/sys/{name}")).set(9);
    }
    registry.gauge("/sys/num_worker_threads").set(1);
    registry.gauge("/sys/input_rate").set(1000);
    for name in ["udp4/sessions", "udp4/sessions_mh", "udp6/sessions", "udp6/sessions_mh"] {
        registry.gauge(&format!("/bfd/{name}")).set(3);
    }
    for name in ["/sys/vector_rate_per_worker", "/sys/loops_per_worker"] {
        let row = registry.row(name, 2);
        row[0].set(3);
        row[1].set(7);
    }
    registry.extend(Space::Interface, 3);
    registry.extend(Space::Node, 2);
    registry.extend(Space::Error, 2);
    for name in ["rx", "tx"] {
        registry.combined(&format!("/if/{name}")).lane(1).add(1, 5, 300);
        for cast in ["unicast", "multicast", "broadcast"] {
            registry.combined(&format!("/if/{name}-{cast}")).lane(0).add(1, 2, 120);
        }
    }
    for name in
        ["drops", "punt", "ip4", "ip6", "mpls", "rx-no-buf", "rx-miss", "rx-error", "tx-error"]
    {
        registry.simple(&format!("/if/{name}")).lane(0).add(1, 4);
    }
    for name in ["calls", "vectors", "clocks", "suspends"] {
        registry.simple(&format!("/sys/node/{name}")).lane(1).add(1, 11);
    }
    for name in ["packets", "congestion"] {
        let counter = registry.simple(&format!("/sys/handoff/{name}"));
        counter.start(1);
        counter.lane(0).add(1, 6);
    }
    for name in [
        "interface/admin-up",
        "interface/link-up",
        "interface/mtu",
        "nexthop/is-down",
        "nexthop/down",
        "nexthop/up",
    ] {
        registry.simple(&format!("/net/{name}")).control().add(1, 1);
    }
    registry.simple("/net/interface/link-speed").control().add(1, 2_500_000);
    registry.gauge("/sys/process/resident-bytes").set(1 << 20);
    registry.gauge("/sys/process/cpu-milliseconds").set(12_345);
    registry.simple("/node/errors").lane(1).add(1, 8);
    registry.simple("/net/arp/rx/requests").lane(0).add(1, 2);
    registry.simple("/net/arp/refused/full").lane(0).add(1, 1);
    let names = [
        "/if/names",
        "/sys/node/names",
        "/net/ip4/interface-tables",
        "/sys/error/names",
        "/sys/error/severities",
        "/sys/error/texts",
    ]
    .map(|name| registry.names(name));
    registry.change(|c| {
        names[0].set(c, 0, "local0");
        names[0].set(c, 1, "odd\"name\\\n");
        names[1].set(c, 1, "ip4-lookup");
        names[2].set(c, 1, "10");
        c.symlink("/err/ip4-input/bad checksum", "/node/errors", 1);
        names[3].set(c, 1, "ip4-input/bad checksum");
        names[4].set(c, 1, "error");
        names[5].set(c, 1, "bad ip4 checksum");
    });
    registry.set_gauges("/net/ip4/routes/", &[("10".into(), 12)]);
    registry.set_gauges("/net/ip6/routes/", &[("7".into(), 30)]);
    registry.gauge("/net/ip4/neighbors").set(2);
    registry.gauge("/net/ip6/neighbors").set(5);
    registry.gauge("/buffer-pools/default-numa-0/used").set(40);
    registry.gauge("/mem/main heap/used").set(4096);
    registry
}

fn text(registry: &Registry) -> String {
    encode::text(&Reader::new(registry).expect("a segment")).expect("readable")
}

/// A family as a strict reader sees it: its type, and the value of each sample by name and labels.
type Family = (String, BTreeMap<String, u64>);

/// Reads OpenMetrics as the specification's grammar has it, as far as these metrics use it.
fn parse(text: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut lines = text.strip_suffix("# EOF\n").expect("the end is marked").lines().peekable();
    let name_ok = |name: &str| {
        name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && !name.is_empty()
    };
    while let Some(line) = lines.next() {
        let (name, help) = line.strip_prefix("# HELP ").expect(line).split_once(' ').expect("help");
        assert!(name_ok(name) && !help.is_empty(), "{line}");
        let (typed, kind) = lines
            .next()
            .and_then(|l| l.strip_prefix("# TYPE "))
            .expect(line)
            .split_once(' ')
            .expect("type");
        assert_eq!(typed, name);
        if let Some(unit) = lines.next_if(|l| l.starts_with("# UNIT ")) {
            let (of, unit) = unit["# UNIT ".len()..].split_once(' ').expect("a unit");
            assert!(of == name && name.ends_with(&format!("_{unit}")), "{name}: {unit}");
        }
        let suffix = match kind {
            "counter" => "_total",
            "info" => "_info",
            "gauge" => "",
            other => panic!("{other}"),
        };
        let mut samples = BTreeMap::new();
        while let Some(line) = lines.next_if(|l| !l.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').expect("a value");
            let rest = series.strip_prefix(name).and_then(|r| r.strip_prefix(suffix)).expect(line);
            if !rest.is_empty() {
                let inner = rest.strip_prefix('{').and_then(|r| r.strip_suffix('}')).expect(line);
                labels(inner);
            }
            assert!(
                samples
                    .insert(rest.to_string(), value.parse::<f64>().expect(line) as u64)
                    .is_none(),
                "twice: {line}"
            );
        }
        assert!(!samples.is_empty(), "{name} has no sample");
        assert!(
            families.insert(name.into(), (kind.into(), samples)).is_none(),
            "{name} comes twice"
        );
    }
    families
}

/// `name="value"`, with commas between.
fn labels(mut text: &str) {
    loop {
        let (name, rest) = text.split_once("=\"").expect(text);
        assert!(name.bytes().all(|b| b.is_ascii_lowercase()), "{name}");
        let mut escaped = false;
        let end = rest.find(|c| {
            let end = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            end
        });
        text = &rest[end.expect("a closed value") + 1..];
        match text.strip_prefix(',') {
            Some(next) => text = next,
            None => return assert_eq!(text, ""),
        }
    }
}

#[suite::test]
fn every_metric_is_told_as_openmetrics_wants_it() {
    let families = parse(&text(&segment()));
    for metric in all().chain([&OMITTED]) {
        let sample = sample_name(metric);
        let name =
            sample.strip_suffix("_total").or(sample.strip_suffix("_info")).unwrap_or(&sample);
        let (kind, samples) = families.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        let want = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Info => "info",
        };
        assert_eq!(kind, want, "{name}");
        for series in samples.keys() {
            assert!(
                metric.labels.iter().all(|l| series.contains(&format!("{l}=\""))),
                "{name}{series}"
            );
        }
    }
    assert_eq!(families.len(), all().count() + 1);
}

#[suite::test]
fn no_two_metrics_share_a_name() {
    let names: Vec<String> = all().chain([&OMITTED]).map(sample_name).collect();
    let unique: BTreeSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{names:?}");
}

#[suite::test]
fn values_are_those_of_the_segment() {
    let registry = segment();
    let families = parse(&text(&registry));
    let value = |name: &str, labels: &str| families[name].1.get(labels).copied();
    let odd = r#"{interface="odd\"name\\\n"}"#;
    assert_eq!(value("ferrovia_interface_receive_packets", odd), Some(5));
    assert_eq!(value("ferrovia_interface_receive_bytes", odd), Some(300));
    assert_eq!(value("ferrovia_interface_receive_bytes", r#"{interface="local0"}"#), Some(0));
    assert_eq!(families["ferrovia_interface_drops"].1.len(), 2, "the third has no name");
    let labels =
        r#"{node="ip4-input",reason="bad checksum",severity="error",text="bad ip4 checksum"}"#;
    assert_eq!(value("ferrovia_errors", labels), Some(8));
    assert_eq!(value("ferrovia_node_clocks", r#"{node="ip4-lookup",worker="wk_0"}"#), Some(11));
    assert_eq!(families["ferrovia_node_calls"].1.len(), 1, "where it has run");
    assert_eq!(value("ferrovia_vector_rate", r#"{worker="main"}"#), Some(3));
    assert_eq!(value("ferrovia_handoff_packets", r#"{worker="wk_0"}"#), Some(6));
    assert_eq!(value("ferrovia_buffers", r#"{pool="default-numa-0",state="used"}"#), Some(40));
    assert_eq!(value("ferrovia_memory_bytes", r#"{heap="main heap",state="used"}"#), Some(4096));
    assert_eq!(value("ferrovia_routes", r#"{vrf="10",family="ip4"}"#), Some(12));
    assert_eq!(value("ferrovia_routes", r#"{vrf="7",family="ip6"}"#), Some(30));
    assert_eq!(value("ferrovia_neighbors", r#"{family="ip6"}"#), Some(5));
    assert_eq!(value("ferrovia_series_omitted", ""), Some(0));
    assert_eq!(value("ferrovia_interface_admin_up", odd), Some(1));
    assert_eq!(
        families["ferrovia_interface_speed_bytes"].1,
        [(odd.to_string(), 312_500_000)].into()
    );
    assert_eq!(value("ferrovia_interface_next_hops_down", r#"{interface="local0"}"#), Some(0));
    assert!(text(&registry).contains("\nferrovia_process_cpu_seconds_total 12.345\n"));
    // Routes are too many for this.
    registry.combined("/net/route/to").start(0);
    assert!(!text(&registry).contains("/net/route"));
}

#[suite::test]
fn what_counts_is_kept_when_there_is_too_much() {
    let registry = graph::counters::registry(1, crate::plugins::ALL.iter());
    let (names, rx) = (registry.names("/if/names"), registry.combined("/if/rx"));
    let over = 100;
    registry.extend(Space::Interface, SERIES + over);
    registry.change(|c| (0..SERIES + over).for_each(|i| names.set(c, i, &format!("loop{i}"))));
    rx.lane(0).add(SERIES + over - 1, 1, 64);
    let snapshot =
        Snapshot::read(&Reader::new(&registry).expect("a segment"), |_| true).expect("readable");
    let mut series = Series::new(&snapshot);
    series.by_interface("/if/rx", false, &[]);
    assert_eq!(series.limit(), over as u64);
    assert_eq!((series.samples.len(), series.samples[0].value), (SERIES, 1));
}

#[suite::test]
fn requests() {
    let line = |input: &str| match answer(input.as_bytes()) {
        Some((Response::Line(status, _), head)) => {
            (status.split(' ').next().expect("a number"), head)
        }
        Some((Response::Metrics, head)) => ("metrics", head),
        None => ("more", false),
    };
    assert_eq!(line("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), ("metrics", false));
    assert_eq!(line("GET /metrics?a=b HTTP/1.0\n\n"), ("metrics", false));
    assert_eq!(line("HEAD /metrics HTTP/1.1\r\n\r\n"), ("metrics", true));
    assert_eq!(line("GET / HTTP/1.1\r\n\r\n"), ("200", false));
    assert_eq!(line("GET /etc/passwd HTTP/1.1\r\n\r\n"), ("404", false));
    assert_eq!(line("POST /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"), ("405", false));
    assert_eq!(line("GET /metrics HTTP/1.1\r\nHost"), ("more", false));
    assert_eq!(line("\u{16}\u{3}\u{1}"), ("400", false));
    assert_eq!(line(&format!("GET /{} HTTP/1.1\r\n", "x".repeat(REQUEST))), ("431", false));
    assert_eq!(line(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100))), ("431", false));
}

proptest! {
    /// Any bytes get an answer or are waited on, and no longer than the limit.
    #[suite::test]
    fn any_bytes(start in "(GET |POST )?/?(metrics)?( HTTP/1.1\r\n)?", rest in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut input = [start.as_bytes(), &rest].concat();
        let _ = answer(&input);
        input.resize(REQUEST, b'x');
        prop_assert!(answer(&input).is_some());
    }
}

/// A server over the segment, with both kinds of listeners.
fn server(dir: &Path, registry: &Registry) -> (Exporter, std::path::PathBuf, std::net::SocketAddr) {
    let path = dir.join("metrics.sock");
    let unix = listen(&Listen::Unix(path.clone()), None).expect("listening");
    let tcp = listen(&Listen::Tcp("localhost".into(), 0), None).expect("listening");
    let Listener::Tcp(listener) = &tcp else { panic!("a port") };
    let address = listener.local_addr().expect("bound");
    let exporter = Exporter::start(vec![unix, tcp], registry.as_fd()).expect("started");
    (exporter, path, address)
}

fn ask(mut stream: impl Read + Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

const GET: &str = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

#[suite::test]
fn both_listeners_serve() {
    let (dir, registry) = (tempfile::tempdir().expect("a directory"), segment());
    let (exporter, path, address) = server(dir.path(), &registry);
    let unix = || UnixStream::connect(&path).expect("a listener");
    let check = |answer: String| {
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"),
            "{head}"
        );
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
        assert!(parse(body).contains_key("ferrovia_errors"));
    };
    check(ask(unix(), GET));
    check(ask(TcpStream::connect(address).expect("a listener"), GET));
    let (head, body) = {
        let answer = ask(unix(), "HEAD /metrics HTTP/1.1\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.to_string(), body.to_string())
    };
    assert!(head.starts_with("HTTP/1.1 200") && body.is_empty());
    let refused = ask(unix(), "DELETE / HTTP/1.1\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 405") && refused.contains("\r\nAllow: GET, HEAD\r\n"));
    // A request in pieces, and one whose sender has shut its side.
    let mut slow = unix();
    slow.write_all(&GET.as_bytes()[..9]).expect("sent");
    check(ask(unix(), GET));
    slow.write_all(&GET.as_bytes()[9..]).expect("sent");
    slow.shutdown(Shutdown::Write).expect("half closed");
    let mut text = String::new();
    slow.read_to_string(&mut text).expect("an answer");
    check(text);
    drop(exporter);
    assert!(!path.exists(), "its socket goes with it");
}

#[suite::test]
fn those_who_do_not_ask_keep_nobody_out() {
    let (dir, registry) = (tempfile::tempdir().expect("a directory"), segment());
    let (exporter, path, address) = server(dir.path(), &registry);
    let half: Vec<_> = (0..3 * CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(address).expect("a listener");
            // It may have been sent away already.
            let _ = stream.write_all(b"GET /metr");
            stream
        })
        .collect();
    for _ in 0..20 {
        assert!(ask(UnixStream::connect(&path).expect("a listener"), GET).ends_with("# EOF\n"));
    }
    // Nor from ending.
    drop(exporter);
    drop(half);
}

#[suite::test]
fn those_who_do_not_read_keep_nobody_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("metrics.sock");
    let unix = listen(&Listen::Unix(path.clone()), None).expect("listening");
    let tcp = listen(&Listen::Tcp("localhost".into(), 0), None).expect("listening");
    let Listener::Tcp(listener) = &tcp else { panic!("a port") };
    let address = listener.local_addr().expect("bound");
    let waker = std::sync::Arc::new(sync::Waker::new().expect("a waker"));
    let end = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (own, stop) = (end.clone(), waker.clone());
    // More than any socket takes at once.
    let text = || Ok("x".repeat(16 << 20));
    let thread = std::thread::spawn(move || {
        let ended = || own.load(std::sync::atomic::Ordering::Acquire);
        super::http::serve(vec![unix, tcp], stop, ended, text).expect("served");
    });
    let held: Vec<_> = (0..2 * CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(address).expect("a listener");
            // It may have been sent away already.
            let _ = stream.write_all(GET.as_bytes());
            // Its answer is under way.
            let _ = stream.peek(&mut [0]);
            stream
        })
        .collect();
    // From elsewhere, and from the same host.
    for _ in 0..3 {
        let answer = ask(UnixStream::connect(&path).expect("a listener"), GET);
        assert!(answer.len() > 16 << 20, "{}", answer.len());
        assert!(ask(TcpStream::connect(address).expect("a listener"), GET).len() > 16 << 20);
    }
    drop(held);
    end.store(true, std::sync::atomic::Ordering::Release);
    waker.wake();
    thread.join().expect("no panic");
}

/// All files that are written by hand against the names.
fn written() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ["docs/monitoring.md", "extras/grafana/ferrovia.json", "extras/prometheus/alerts.yml"]
        .map(|file| (file.into(), std::fs::read_to_string(root.join(file)).expect(file)))
        .to_vec()
}

#[suite::test]
fn what_is_written_names_what_is_there() {
    let known: BTreeSet<String> = all().chain([&OMITTED]).map(sample_name).collect();
    for (file, text) in written() {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let used: BTreeSet<&str> = words
            .filter(|w| w.starts_with("ferrovia_") && !["ferrovia_prom"].contains(w))
            .collect();
        assert!(!used.is_empty(), "{file}");
        for name in &used {
            assert!(known.contains(*name), "{file}: there is no {name}");
        }
        if file.starts_with("docs/") {
            let missing: Vec<_> =
                known.iter().filter(|name| !used.contains(name.as_str())).collect();
            assert_eq!(missing, [""; 0], "{file} doesn't name them");
        }
    }
}

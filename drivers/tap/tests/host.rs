// SPDX-License-Identifier: Apache-2.0
//! The host's end of a tap. Needs root and /dev/net/tun.

use std::{
    io::{BufRead, BufReader},
    net::UdpSocket,
    os::fd::{AsFd, AsRawFd},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::tap_lab::{collect, frame, index, namespace, open, packet, pseudo_sum, sh};
use netlink::{Namespace, Rtnl};
use tap::{Config, Kind, MAX_PARTS, RxDrops, Tap, TxReport};
use wire::{
    MacAddr,
    offload::{Csum, Offload},
};

const PLAIN: Offload = Offload::NONE;

fn with_address(name: &str) -> Config {
    Config { host_ip4: Some(([10, 8, 0, 1].into(), 24)), ..Config::new(name) }
}

#[suite::test(netns)]
fn configures_the_host() {
    let Some(host) = namespace() else { return };
    sh(&host, "ip link add br0 type bridge");
    let config = Config {
        host_mac: Some(MacAddr([2, 1, 2, 3, 4, 5])),
        host_mtu: Some(9000),
        host_queue_len: Some(256),
        host_bridge: Some("br0".into()),
        host_ip6: Some(("2001:db8::1".parse().unwrap(), 64)),
        host_ip4_gateway: Some([10, 8, 0, 2].into()),
        host_ip6_gateway: Some("2001:db8::2".parse().unwrap()),
        ..with_address("tap5")
    };
    let tap = open(&host, &config).unwrap();
    assert_eq!((tap.link.mtu, tap.link.mac), (9000, config.host_mac));
    assert!(tap.link.is_admin_up() && tap.link.is_ethernet());
    assert_eq!(tap.link.master, Some(index(&host, "br0").unwrap()));
    let text = sh(&host, "ip -d addr show tap5");
    for part in ["10.8.0.1/24", "2001:db8::1/64", "qlen 256", "persist off", "LOWER_UP"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(sh(&host, "ip route; ip -6 route").contains("default via 10.8.0.2 dev tap5"));
    assert!(sh(&host, "ip -6 route").contains("default via 2001:db8::2 dev tap5"));
    tap.host.set_carrier(false).unwrap();
    assert!(sh(&host, "ip link show tap5").contains("NO-CARRIER"));
    tap.host.set_carrier(true).unwrap();
    drop(tap);
    assert_eq!(index(&host, "tap5").unwrap_err().raw_os_error(), Some(libc::ENODEV));
}

#[suite::test(netns)]
fn in_a_namespace_by_path_and_process() {
    let Some(host) = namespace() else { return };
    // a process in the namespace, by whose id it is known
    let mut sleep = host.run(|| Command::new("sleep").arg("20").spawn()).unwrap();
    for what in [sleep.id().to_string(), format!("/proc/{}/ns/net", sleep.id())] {
        let config = Config { host_namespace: Some(what), ..Config::new("tap7") };
        let tap = Tap::open(&config).unwrap();
        assert_eq!(index(&host, "tap7").unwrap(), tap.link.index);
        assert!(Rtnl::in_namespace(tap.host.namespace().unwrap()).unwrap().link("tap7").is_ok());
        let here = Rtnl::new().unwrap().link("tap7");
        assert!(here.is_err(), "it is not in the namespace of the tests: {here:?}");
    }
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    let nowhere =
        Config { host_namespace: Some("no-such-namespace".into()), ..Config::new("tap7") };
    let error = Tap::open(&nowhere).err().unwrap().to_string();
    assert!(
        error.starts_with("tap tap7: network namespace no-such-namespace: No such file"),
        "{error}"
    );
}

#[suite::test(netns)]
fn what_fails_leaves_nothing_and_says_why() {
    let Some(host) = namespace() else { return };
    let fails = |config: Config, text: &str| {
        let error = open(&host, &config).err().unwrap().to_string();
        assert!(error.contains(text), "{error}");
    };
    fails(
        Config { host_bridge: Some("br9".into()), ..Config::new("tap1") },
        "tap tap1: host bridge: No such device",
    );
    fails(
        Config { host_mtu: Some(1 << 20), ..Config::new("tap1") },
        "tap tap1: host MTU: Invalid argument",
    );
    fails(Config::new("lo"), "tap lo: an interface of this name exists");
    fails(Config { attach: true, ..Config::new("tap1") }, "tap tap1: No such device");
    fails(Config::new("a-name-too-long-for-linux"), "is no interface name");
    fails(Config { queues: 0, ..Config::new("tap1") }, "1 to 256 queues");
    assert_eq!(index(&host, "tap1").unwrap_err().raw_os_error(), Some(libc::ENODEV));

    let first = open(&host, &Config { persist: true, ..Config::new("tap1") }).unwrap();
    fails(Config { attach: true, ..Config::new("tap1") }, "in use by another process");
    drop(first);
    fails(Config { attach: true, kind: Kind::Tun, ..Config::new("tap1") }, "of another kind");
}

#[suite::test(netns)]
fn persistent_and_attached() {
    let Some(host) = namespace() else { return };
    let config = Config { persist: true, ..with_address("tap1") };
    let first = open(&host, &config).unwrap().link.index;
    assert!(sh(&host, "ip -d link show tap1").contains("persist on"));
    // once more, with all it had
    assert_eq!(open(&host, &config).unwrap().link.index, first);
    let tap = open(&host, &Config { attach: true, ..Config::new("tap1") }).unwrap();
    assert_eq!(tap.link.index, first);
    assert!(sh(&host, "ip addr show tap1").contains("10.8.0.1/24"));
    tap.host.set_persistent(false).unwrap();
    drop(tap);
    assert!(index(&host, "tap1").is_err());
}

#[suite::test(netns)]
fn frames_both_ways() {
    for config in [with_address("tap1"), Config { kind: Kind::Tun, ..with_address("tun1") }] {
        let Some(host) = namespace() else { return };
        let mut tap = open(&host, &config).unwrap();
        let tun = config.kind == Kind::Tun;
        if !tun {
            sh(&host, "ip neigh add 10.8.0.2 lladdr 02:00:00:00:00:02 dev tap1 nud permanent");
        }
        let mac = tap.link.mac.unwrap_or_default();
        let wrap = |packet: Vec<u8>| if tun { packet } else { frame(mac, &packet) };
        let ip = if tun { 0 } else { 14 };
        let socket = host.run(|| UdpSocket::bind("10.8.0.1:4660")).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();

        // to the host: complete, with a checksum to be completed, in pieces, in too many pieces
        let mut frames: Vec<_> = (1..=4).map(|port| wrap(packet(128, port))).collect();
        let sum = pseudo_sum(&frames[1][ip..]);
        frames[1][ip + 26..ip + 28].copy_from_slice(&sum.to_be_bytes());
        let partial =
            Offload { csum: Csum::Partial { start: ip as u16 + 20, offset: 6 }, gso: None };
        let mut batch = tap.tx[0].batch();
        batch.push(PLAIN, [&frames[0][..]]);
        batch.push(partial, [&frames[1][..]]);
        batch.push(PLAIN, frames[2].chunks(frames[2].len().div_ceil(MAX_PARTS)));
        batch.push(PLAIN, frames[3].chunks(1));
        batch.push(
            Offload { csum: Csum::Partial { start: 1000, offset: 6 }, gso: None },
            [&frames[3][..]],
        );
        assert_eq!(batch.flush(), TxReport { sent: 3, refused: 2, ..TxReport::default() });
        for port in 1..=3 {
            let mut bytes = [0; 200];
            let (len, from) = socket.recv_from(&mut bytes).unwrap();
            assert_eq!((len, from), (100, ([10, 8, 0, 2], port).into()));
            assert_eq!(bytes[..100], [0xab; 100]);
        }

        // from the host
        socket.send_to(&[0xcd; 1000], "10.8.0.2:7").unwrap();
        let got = collect(&mut tap.rx[0], 1);
        let [(offload, bytes)] = &got[..] else { panic!("{got:?}") };
        assert_eq!(offload.csum, Csum::Partial { start: ip as u16 + 20, offset: 6 });
        assert_eq!(bytes.len(), ip + 1028);
        assert_eq!(bytes[ip + 28..], [0xcd; 1000]);
        assert!(tun || bytes[..6] == [2, 0, 0, 0, 0, 2]);

        // into memory of one's own: one byte has to stay free
        for (room, fits) in [(ip + 1028, false), (ip + 1029, true)] {
            socket.send_to(&[0xef; 1000], "10.8.0.2:7").unwrap();
            let mut memory = vec![0; room];
            let got = tap.rx[0].recv_into(memory.chunks_mut(500));
            assert_eq!(got.map(|(_, len)| len), fits.then_some(ip + 1028));
            assert!(!fits || memory[ip + 28..ip + 1028] == [0xef; 1000]);
        }
        assert_eq!(tap.rx[0].take_drops(), RxDrops { truncated: 1, unknown_offload: 0 });
        assert!(tap.rx[0].take_error().is_ok(), "no frame is no error");
    }
}

#[suite::test(netns)]
fn tags_stay_in_the_frame() {
    let Some(host) = namespace() else { return };
    let mut tap = open(&host, &Config::new("tap1")).unwrap();
    let mut tagged = frame(tap.link.mac.unwrap(), &packet(100, 9));
    tagged.splice(12..12, [0x81, 0x00, 0x60, 0x64]);
    let text = std::thread::scope(|scope| {
        let line = "timeout 20 tcpdump -i tap1 -c 3 -n -e --immediate-mode 'vlan 100' 2>/dev/null";
        let tcpdump = scope.spawn(|| sh(&host, line));
        // again and again: nothing tells when tcpdump has begun to listen
        while !tcpdump.is_finished() {
            let mut batch = tap.tx[0].batch();
            batch.push(PLAIN, [&tagged[..]]);
            assert_eq!(batch.flush().sent, 1);
            std::thread::sleep(Duration::from_millis(20));
        }
        tcpdump.join().unwrap()
    });
    assert!(
        text.contains("vlan 100, p 3, ethertype IPv4")
            && text.contains("10.8.0.2.9 > 10.8.0.1.4660"),
        "{text}"
    );
}

#[suite::test(netns)]
fn queues_share_the_flows_of_the_host() {
    let Some(host) = namespace() else { return };
    let mut tap = open(&host, &Config { queues: 3, ..with_address("tap1") }).unwrap();
    assert_eq!((tap.rx.len(), tap.tx.len()), (3, 3));
    sh(&host, "ip neigh add 10.8.0.2 lladdr 02:00:00:00:00:02 dev tap1 nud permanent");
    let total = 60;
    for _ in 0..total {
        let socket = host.run(|| UdpSocket::bind("10.8.0.1:0")).unwrap();
        (0..5).for_each(|_| _ = socket.send_to(b"hello", "10.8.0.2:7").unwrap());
    }
    let got: Vec<_> = tap.rx.iter_mut().map(|rx| collect(rx, total * 5).len()).collect();
    assert_eq!(got.iter().sum::<usize>(), total * 5, "{got:?}");
    assert!(got.iter().all(|&n| n > 0), "{got:?}");
}

#[suite::test(netns)]
fn down_and_gone() {
    let Some(host) = namespace() else { return };
    let mut tap = open(&host, &Config::new("tap1")).unwrap();
    let bytes = frame(tap.link.mac.unwrap(), &packet(100, 1));
    let send = |tap: &mut Tap| {
        let mut batch = tap.tx[0].batch();
        batch.push(PLAIN, [&bytes[..]]);
        batch.flush()
    };
    let mut rtnl = Rtnl::in_namespace(&host).unwrap();
    rtnl.set_admin_up(tap.link.index, false).unwrap();
    assert_eq!(send(&mut tap), TxReport { down: 1, ..TxReport::default() });
    assert_eq!(tap.rx[0].recv(1, |_| ()), 0);
    rtnl.set_admin_up(tap.link.index, true).unwrap();
    assert_eq!(send(&mut tap).sent, 1);
    rtnl.delete_link(tap.link.index).unwrap();
    assert_eq!(send(&mut tap), TxReport { down: 1, ..TxReport::default() });
    assert_eq!(tap.rx[0].recv(1, |_| ()), 0);
    assert_eq!(tap.rx[0].take_error().unwrap_err().raw_os_error(), Some(libc::EBADFD));
    assert!(tap.rx[0].take_error().is_ok(), "said once");
}

#[suite::test]
#[ignore = "helper: the process that the next test kills"]
fn hold() {
    let path = std::env::var("FERROVIA_TEST_NAMESPACE").unwrap();
    let _tap = Namespace::open(&path).unwrap().run(|| Tap::open(&with_address("tap1"))).unwrap();
    eprintln!("holding");
    std::thread::sleep(Duration::from_secs(30));
}

#[suite::test(netns)]
fn taken_over_after_kill() {
    let Some(host) = namespace() else { return };
    let path = format!("/proc/{}/fd/{}", std::process::id(), host.as_fd().as_raw_fd());
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &suite::name!("hold"), "--ignored", "--nocapture"])
        .env("FERROVIA_TEST_NAMESPACE", path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(holder.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "holding"));
    assert!(open(&host, &with_address("tap1")).is_err());
    holder.kill().unwrap(); // SIGKILL
    holder.wait().unwrap();
    let tap = open(&host, &with_address("tap1")).unwrap();
    assert!(tap.link.is_admin_up());
}

/// Says how fast it is; asserts only that frames arrive.
#[suite::test(netns)]
fn rate() {
    const COUNT: usize = 100_000;
    let Some(host) = namespace() else { return };
    let mut tap = open(&host, &with_address("tap1")).unwrap();
    sh(&host, "ip neigh add 10.8.0.2 lladdr 02:00:00:00:00:02 dev tap1 nud permanent");
    let bytes = frame(tap.link.mac.unwrap(), &packet(64, 1));
    let _listener = host.run(|| UdpSocket::bind("10.8.0.1:4660")).unwrap();
    let start = Instant::now();
    let mut batch = tap.tx[0].batch();
    (0..COUNT).for_each(|_| batch.push(PLAIN, [&bytes[..]]));
    let report = batch.flush();
    eprintln!("to the host: {:.0} ns per frame", start.elapsed().as_nanos() as f64 / COUNT as f64);
    assert_eq!(report.sent, COUNT as u64);

    let socket = host.run(|| UdpSocket::bind("10.8.0.1:0")).unwrap();
    let (mut got, mut busy) = (0, Duration::ZERO);
    for _ in 0..100 {
        (0..200).for_each(|_| _ = socket.send_to(&[0; 36], "10.8.0.2:7").unwrap());
        let start = Instant::now();
        got += tap.rx[0].recv(200, |frame| assert_eq!(frame.data.len(), 78));
        busy += start.elapsed();
    }
    eprintln!("from the host: {:.0} ns per frame", busy.as_nanos() as f64 / got as f64);
    assert_eq!(got, 20_000);
}

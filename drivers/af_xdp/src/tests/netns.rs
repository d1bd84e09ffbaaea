// SPDX-License-Identifier: Apache-2.0
//! Two Linux hosts talk through two AF_XDP interfaces of a running instance.

use crate::{Config, Create, create};
use cli::{Task, TaskState, Tree};
use driver::rig::{Rig, WIRE};
use graph::Plugin;
use net::{IfCounters, Interface, Interfaces, MtuKind};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use testkit::lab::{self, Netns};

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &crate::PLUGIN, &WIRE];

/// Hosts 10.8.0.1 and 10.8.0.2, and between them the instance's namespace with the netdevs `va` and
/// `vb`.
struct Hosts {
    a: Netns,
    b: Netns,
    middle: Netns,
}

impl Hosts {
    fn join(&self, n: usize, mtu: u32, queues: u32) {
        let (host, port) = [(&self.a, "va"), (&self.b, "vb")][n];
        let far = self.middle.name().expect("it has one");
        let count = format!("numtxqueues {queues} numrxqueues {queues}");
        host.ip(&format!("link add eth0 {count} type veth peer name {port} {count} netns {far}"));
        host.mtu("eth0", mtu);
        self.middle.mtu(port, mtu);
        for (netns, name) in [(host, "eth0"), (&self.middle, port)] {
            netns.up(name);
        }
        host.addr("eth0", &format!("10.8.0.{}/24", n + 1));
        // The kernel passes partial checksums as they are, and doesn't mark them.
        host.offloads("eth0", false);
    }
}

fn hosts(mtu: u32, queues: u32) -> Option<Hosts> {
    let lab = lab::require(&["root", "ping", "ethtool", "ip"])?;
    let (a, b, middle) = (lab.netns("a"), lab.netns("b"), lab.netns("m"));
    for netns in [&a, &b, &middle] {
        netns.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
    }
    let hosts = Hosts { a, b, middle };
    hosts.join(0, mtu, queues);
    hosts.join(1, mtu, queues);
    Some(hosts)
}

impl Hosts {
    /// Sends bytes of a sequence over TCP both ways at once, and compares each.
    fn tcp(&self, connections: usize, bytes: usize) {
        let run = |netns: &Netns, f: Box<dyn FnOnce() + Send>| {
            let namespace = netlink::Namespace::open(netns.name().expect("it has one"));
            namespace
                .expect("opened")
                .run(move || {
                    f();
                    Ok(())
                })
                .expect("entered");
        };
        let listener = std::sync::Mutex::new(None);
        let listener = std::sync::Arc::new(listener);
        let server = listener.clone();
        run(
            &self.b,
            Box::new(move || {
                let made = TcpListener::bind(("10.8.0.2", 7)).expect("listens");
                *server.lock().expect("no panic inside") = Some(made);
            }),
        );
        let listener = listener.lock().expect("no panic inside").take().expect("made");
        std::thread::scope(|scope| {
            for n in 0..connections {
                let (tx, rx) = std::sync::mpsc::channel();
                run(
                    &self.a,
                    Box::new(move || {
                        let to = SocketAddr::from(([10, 8, 0, 2], 7));
                        let stream = TcpStream::connect_timeout(&to, Duration::from_secs(5));
                        tx.send(stream.expect("connected")).expect("taken");
                    }),
                );
                let client = rx.recv().expect("connected");
                let (server, _) = listener.accept().expect("accepted");
                for (side, stream) in [client, server].into_iter().enumerate() {
                    let limit = Some(Duration::from_secs(20));
                    stream.set_read_timeout(limit).expect("set");
                    stream.set_write_timeout(limit).expect("set");
                    let mut out = stream.try_clone().expect("a copy");
                    let mut input = stream;
                    let byte = move |from: usize, i: usize| (i * 31 + i / 251 + from * 7 + n) as u8;
                    scope.spawn(move || {
                        let all: Vec<u8> = (0..bytes).map(|i| byte(side, i)).collect();
                        out.write_all(&all).expect("sent");
                    });
                    scope.spawn(move || {
                        let mut all = vec![0; bytes];
                        input.read_exact(&mut all).expect("received");
                        let other = 1 - side;
                        let wrong = (0..bytes).find(|i| all[*i] != byte(other, *i));
                        assert_eq!(wrong, None, "a byte differs");
                    });
                }
            }
        });
    }

    /// The line of `ip -d link` about programs of a netdev.
    fn program(&self, netdev: &str) -> String {
        let text = self.middle.ip(&format!("-d link show {netdev}"));
        text.lines().filter(|line| line.contains("xdp")).map(str::to_string).collect()
    }
}

fn wired(hosts: &Hosts, words: &str, workers: usize) -> Rig {
    let rig = Rig::new(hosts.middle.name().expect("it has one"), PLUGINS, workers);
    for netdev in ["va", "vb"] {
        rig.script(&format!(
            "create interface af_xdp host-if {netdev} {words}\nset interface state {netdev}/0 up"
        ));
    }
    rig.wire("va/0", "vb/0");
    rig.settle();
    rig
}

fn interface(rig: &Rig, name: &str) -> Interface {
    let interfaces = rig.world.get::<Interfaces>();
    interfaces.find(name).and_then(|sw_if| interfaces.get(sw_if)).expect("it is there")
}

#[suite::test(netns)]
fn hosts_talk_in_every_mode() {
    for (words, mode, queues, workers) in [
        ("", "native", 1, 0),
        ("generic", "generic", 1, 1),
        ("num-rx-queues all", "native", 2, 2),
        ("num-rx-queues 2 generic", "generic", 2, 1),
    ] {
        let Some(hosts) = hosts(1500, queues) else { return };
        let rig = wired(&hosts, words, workers);
        hosts.a.pings("-c 200 -i 0.002", "10.8.0.2");
        let text = rig.script("show hardware-interfaces va/0");
        assert!(text.contains(&format!("XDP {mode}, copied by the kernel")), "{text}");
        for mode in ["polling", "interrupt", "adaptive"] {
            for netdev in ["va/0", "vb/0"] {
                for queue in 0..queues {
                    rig.script(&format!("set interface rx-mode {netdev} queue {queue} {mode}"));
                }
            }
            hosts.a.pings("-c 20 -i 0.002", "10.8.0.2");
            hosts.tcp(2, 3_000_000);
        }
        let shown = rig.script("show af_xdp");
        eprintln!("{shown}");
        assert_eq!(shown.lines().count(), 1 + 2 * queues as usize, "{shown}");
        assert_eq!(rig.drops(), []);
        let counters = rig.world.get::<IfCounters>();
        assert!(counters.rx.sum(interface(&rig, "va/0").sw_if.at()).0 > 4000);
        rig.finish();
        assert_eq!(hosts.program("va"), "", "nothing is left");
    }
}

#[suite::test(netns)]
fn jumbo_frames_are_chains() {
    for words in ["", "generic"] {
        let Some(hosts) = hosts(9000, 1) else { return };
        let rig = wired(&hosts, words, 1);
        assert_eq!(interface(&rig, "va/0").mtu_of(MtuKind::Link), 9000);
        hosts.a.pings("-c 20 -i 0.01 -M do -s 8972", "10.8.0.2");
        hosts.a.pings("-c 10 -i 0.01 -s 30000", "10.8.0.2");
        hosts.tcp(2, 10_000_000);
        rig.script("set interface mtu 3000 va/0");
        assert!(hosts.middle.ip("link show va").contains("mtu 3000"));
        assert_eq!(rig.drops(), []);
        rig.finish();
    }
}

#[suite::test(netns)]
fn links_are_followed_and_netdevs_come_back() {
    let Some(hosts) = hosts(1500, 1) else { return };
    let rig = wired(&hosts, "", 1);
    hosts.a.pings("-c 2 -i 0.01", "10.8.0.2");
    hosts.a.down("eth0");
    rig.until("the link is down", |_| !interface(&rig, "va/0").link_up);
    hosts.a.up("eth0");
    rig.until("the link is up", |_| interface(&rig, "va/0").link_up);
    hosts.middle.mtu("va", 1400);
    rig.until("the MTU is noted", |_| interface(&rig, "va/0").mtu_of(MtuKind::Link) == 1400);
    rig.script("set interface state va/0 down");
    rig.settle();
    let silent = "-n -c 2 -i 0.01 -W 1 10.8.0.2".split(' ');
    assert!(!hosts.a.command("ping").args(silent).run().success());
    rig.script("set interface state va/0 up\nset interface promiscuous on va/0");
    rig.script("set interface mac address va/0 02:00:00:00:00:0a");
    hosts.a.pings("-c 2 -i 0.01", "10.8.0.2");
    // In the midst of traffic.
    std::thread::scope(|scope| {
        let words = "-n -q -f -w 3 -s 1400 10.8.0.2".split(' ');
        let flood = scope.spawn(|| hosts.a.command("ping").args(words).run());
        std::thread::sleep(Duration::from_millis(300));
        hosts.middle.ip("link del va");
        flood.join().expect("no panic");
    });
    let details = || rig.script("show hardware-interfaces va/0");
    rig.until("it is gone", |_| details().contains("gone"));
    assert!(!interface(&rig, "va/0").link_up);
    assert!(rig.script("show af_xdp").contains("gone"));
    hosts.join(0, 1500, 1);
    rig.until("it is back", |_| interface(&rig, "va/0").link_up);
    hosts.a.pings("-c 5 -i 0.01", "10.8.0.2");
    rig.finish();
}

#[suite::test(netns)]
fn queues_move_while_packets_pass() {
    let Some(hosts) = hosts(1500, 2) else { return };
    let rig = wired(&hosts, "num-rx-queues 2", 2);
    std::thread::scope(|scope| {
        let traffic = scope.spawn(|| (0..3).for_each(|_| hosts.tcp(4, 2_000_000)));
        for turn in 0..60 {
            let place =
                if turn % 3 == 0 { "main".into() } else { format!("worker {}", turn % 3 - 1) };
            rig.script(&format!("set interface rx-placement vb/0 queue {} {place}", turn % 2));
            let mode = ["polling", "interrupt", "adaptive"][turn % 3];
            rig.script(&format!("set interface rx-mode va/0 {mode}"));
            // All threads to one transmit queue, then one to the other: none is without a queue.
            rig.script(&format!(
                "set interface tx-queue vb/0 queue {} threads 0-2
                 set interface tx-queue vb/0 queue {} threads {}",
                turn % 2,
                1 - turn % 2,
                turn % 3
            ));
            std::thread::sleep(Duration::from_millis(10));
        }
        traffic.join().expect("no panic");
    });
    assert_eq!(rig.drops(), []);
    let shown = rig.script("show interface tx-queue vb/0");
    assert_eq!(shown, "vb/0 queue 0: thread 2\nvb/0 queue 1: threads 0-1, shared\n");
    let error = rig.cli("set interface rss queues va/0 list 1").expect_err("a veth has no table");
    assert!(error.to_string().contains("no table of receive queues"), "{error}");
    // Many times over: what is in flight is no leak.
    for _ in 0..5 {
        rig.script(
            "delete interface af_xdp va/0\ncreate interface af_xdp host-if va num-rx-queues all\n\
             set interface state va/0 up",
        );
        rig.wire("va/0", "vb/0");
        // A thread that starts late discards packets that came before it had the queue.
        rig.settle();
        hosts.a.pings("-c 3 -i 0.01", "10.8.0.2");
    }
    rig.finish();
}

/// Control goes on while the kernel opens queues, and settings made meanwhile come into force.
#[suite::test(netns)]
fn control_goes_on_while_queues_are_opened() {
    let Some(hosts) = hosts(1500, 2) else { return };
    let rig = Rig::new(hosts.middle.name().expect("it has one"), PLUGINS, 2);
    rig.script("create interface af_xdp host-if vb num-rx-queues 2\nset interface state vb/0 up");
    rig.control(|world| {
        let tree = Tree::new(world.plugins().iter().flat_map(|p| p.cli)).expect("a tree");
        let set = |line: &str| {
            tree.execute(world, line).map(|_| ()).unwrap_or_else(|e| panic!("{line}: {e}"));
        };
        let create = || {
            let config = Config { rx_queues: Some(2), ..Config::new("va") };
            create(world, Create { config, name: None }).expect("made")
        };
        // Queues that are opened for an interface that is gone are closed.
        let mut gone = create();
        set("delete interface af_xdp va/0");
        let TaskState::Failed(error) = gone.poll(Duration::ZERO) else { panic!("it goes on") };
        assert!(error.to_string().contains("deleted"), "{error}");
        let mut new = create();
        assert!(matches!(new.poll(Duration::ZERO), TaskState::Pending), "control hasn't run");
        for line in [
            "set interface state va/0 up",
            "set interface mtu 1400 va/0",
            "set interface mac address va/0 02:00:00:00:00:0a",
            "set interface promiscuous on va/0",
            "set interface rx-placement va/0 queue 1 main",
            "set interface rx-mode va/0 queue 0 polling",
        ] {
            set(line);
        }
    });
    rig.until("the interface is open", |_| {
        interface(&rig, "va/0").device.details()[0].contains(", up")
    });
    rig.wire("va/0", "vb/0");
    rig.settle();
    hosts.a.pings("-c 2 -i 0.01 -M do -s 1372", "10.8.0.2");
    assert!(hosts.middle.ip("link show va").contains("mtu 1400"));
    let placement = rig.script("show interface rx-placement va/0");
    assert_eq!(placement.matches("polling").count(), 1, "{placement}");
    assert_eq!(interface(&rig, "va/0").device.rx_queues()[1].thread.at(), 0, "{placement}");
    rig.finish();
}

#[suite::test(netns)]
fn programs_of_others_stay() {
    let Some(hosts) = hosts(1500, 1) else { return };
    let name = hosts.middle.name().expect("it has one");
    let rig = wired(&hosts, "", 1);
    hosts.a.pings("-c 2 -i 0.01", "10.8.0.2");
    let other = Rig::new(name, PLUGINS, 0);
    let program = hosts.program("va");
    assert!(program.contains("xdp"), "{program}");
    for words in ["", "native", "generic"] {
        let line = format!("create interface af_xdp host-if va name mine {words}");
        let error = other.cli(&line).expect_err("there is one").to_string();
        // The sockets of the first are in the way before the program is.
        assert!(error.contains("program of another owner") || error.contains("busy"), "{error}");
        assert_eq!(hosts.program("va"), program);
    }
    hosts.a.pings("-c 2 -i 0.01", "10.8.0.2");
    drop(rig);
    assert_eq!(hosts.program("va"), "", "it goes with its process");
    // A program without sockets: the refusal is the program's.
    let alone = crate::io::program::Program::own(1).expect("loaded");
    let index = |netdev: &str| {
        let namespace = netlink::Namespace::open(name).expect("opened");
        let mut rtnl = netlink::Rtnl::in_namespace(&namespace).expect("opened");
        rtnl.link(netdev).expect("there").index
    };
    let index = index("vb");
    let namespace = netlink::Namespace::open(name).expect("opened");
    for mode in [crate::Attach::Native, crate::Attach::Generic] {
        let link = namespace.run(|| alone.attach(index, Some(mode))).expect("attached");
        let program = hosts.program("vb");
        for words in ["", "native", "generic"] {
            let line = format!("create interface af_xdp host-if vb {words}");
            let error = other.cli(&line).expect_err("there is one").to_string();
            assert!(error.contains("has an XDP program of another owner"), "{error}");
            assert_eq!(hosts.program("vb"), program);
        }
        drop(link);
    }
    other.script("create interface af_xdp host-if vb");
    other.finish();
}

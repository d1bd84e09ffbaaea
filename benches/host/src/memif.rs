// SPDX-License-Identifier: Apache-2.0
//! Small packets over memif: our router beside DPDK's testpmd, in turns, in the same place.
//!
//! DPDK's testpmd with two memif ports sends packets in a circle: out of one port, through the
//! devices in a chain, in at the other port, and back. It forwards as fast as it can, and so does
//! each device, on a core of its own. The frames have 64 bytes, without checksum.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use testkit::lab::{self, Background, Lab, Netns};
use tests::{PATIENCE, Router, eventually};

/// Devices between testpmd's ports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Device {
    /// DPDK's testpmd, which forwards without a look at the packets.
    Testpmd,
    /// Our router with a cross-connect, and more of its configuration.
    Ferrovia(&'static str),
}

/// Name of a chain, its devices, and how many there are.
type Chain = (&'static str, Device, usize);

/// The chains that are compared. The longer ones need more cores.
fn chains(cores: usize) -> Vec<Chain> {
    const POLLING: &str = "interface { default-rx-mode polling }";
    let all = [
        ("testpmd", Device::Testpmd, 1),
        ("Ferrovia", Device::Ferrovia(""), 1),
        ("Ferrovia, polling", Device::Ferrovia(POLLING), 1),
        ("two testpmd", Device::Testpmd, 2),
        ("two Ferrovia", Device::Ferrovia(""), 2),
        ("two Ferrovia, polling", Device::Ferrovia(POLLING), 2),
    ];
    all.into_iter().filter(|(_, _, count)| *count < cores).collect()
}

/// Role of a port in the protocol.
#[derive(Clone, Copy)]
enum Role {
    Client,
    Server,
}

impl Role {
    fn testpmd(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    fn ours(self) -> &'static str {
        match self {
            Self::Client => "slave",
            Self::Server => "master",
        }
    }
}

/// Port of a device: the socket's file, and the role.
type Port<'a> = (&'a Path, Role);

/// Tells testpmd to send and forward, and asks for its counters twice. It sends 15 bursts of 32
/// from each port: they fit a ring of 1,024 together, so that none is lost and the circle stays as
/// full as it is.
const SCRIPT: &str = "
seconds=$1
shift
{
    sleep 3
    echo \"start tx_first 15\"
    sleep 1
    echo show port stats all
    sleep \"$seconds\"
    echo show port stats all
    echo stop
    echo quit
} | \"$@\"
";

/// testpmd's words: two ports, the core that it forwards on.
fn testpmd(name: &str, core: usize, ports: [Port<'_>; 2]) -> Vec<String> {
    let mut words: Vec<String> =
        ["--no-huge", "-m", "256", "--no-pci", "--no-telemetry"].map(String::from).into();
    words.extend(["--lcores".into(), format!("0@0,1@{core}")]);
    words.push(format!("--file-prefix=ferrovia-bench-{name}-{}", std::process::id()));
    for (at, (path, role)) in ports.iter().enumerate() {
        let (path, role) = (path.display(), role.testpmd());
        words.push(format!("--vdev=net_memif{at},role={role},socket={path},socket-abstract=no"));
    }
    words.extend(["--", "--forward-mode=io", "--total-num-mbufs=16384"].map(String::from));
    words
}

fn device(netns: &Netns, name: &str, core: usize, ports: [Port<'_>; 2]) -> Background {
    netns
        .command("dpdk-testpmd")
        .args(testpmd(name, core, ports))
        .args(["--auto-start", "--stats-period", "3600"])
        .spawn()
}

fn router(netns: &Netns, core: usize, ports: [Port<'_>; 2], more: &str) -> Router {
    let cpu = format!("cpu {{ main-core 0 corelist-workers {core} }} {more}");
    let router = Router::start(netns, &cpu);
    for (at, (path, role)) in ports.iter().enumerate() {
        let (id, path, role) = (at + 1, path.display(), role.ours());
        router.run(&format!("create memif socket id {id} filename {path}"));
        router.run(&format!("create interface memif socket-id {id} id 0 {role}"));
        router.run(&format!("set interface state memif{id}/0 up"));
    }
    router.run("set interface l2 xconnect memif1/0 memif2/0");
    router.run("set interface l2 xconnect memif2/0 memif1/0");
    router
}

/// Measures the chains in turns, and prints the middle and the range of each.
pub fn run(lab: &Lab, rounds: usize, seconds: u64) -> ExitCode {
    if lab::require(&["dpdk-testpmd"]).is_none() {
        eprintln!("bench-host: needs dpdk-testpmd (package dpdk-dev): nothing was measured");
        return ExitCode::FAILURE;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let chains = chains(cores);
    let mut rates = vec![Vec::new(); chains.len()];
    for round in 1..=rounds {
        for (at, chain) in chains.iter().enumerate() {
            eprintln!("round {round} of {rounds}: {}", chain.0);
            rates[at].push(measure(lab, *chain, cores, seconds) / 1e6);
        }
    }
    println!("{:24}{:>10}{:>10}{:>10}", "chain", "Mpps", "least", "most");
    for ((name, ..), mut rates) in chains.into_iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        let (least, most) = (rates[0], rates[rates.len() - 1]);
        println!("{name:24}{:>10.2}{least:>10.2}{most:>10.2}", rates[rates.len() / 2]);
    }
    ExitCode::SUCCESS
}

/// Packets a second that come back to the generator's two ports together.
#[track_caller]
fn measure(lab: &Lab, (_, kind, count): Chain, cores: usize, seconds: u64) -> f64 {
    // The first core is left to control threads, if there are enough.
    let first = usize::from(count + 1 < cores);
    let netns = lab.netns("memif");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let links: Vec<_> = (0..=count).map(|at| dir.path().join(at.to_string())).collect();
    let (mut others, mut routers) = (Vec::new(), Vec::new());
    // Servers first: a client of DPDK's tries again only seldom.
    for at in 0..count {
        let left = if at == 0 { Role::Server } else { Role::Client };
        let ports = [(&*links[at], left), (&*links[at + 1], Role::Server)];
        match kind {
            Device::Testpmd => others.push(device(&netns, &at.to_string(), first + 1 + at, ports)),
            Device::Ferrovia(more) => routers.push(router(&netns, first + 1 + at, ports, more)),
        }
        for link in &links[usize::from(at > 0)..=at + 1] {
            eventually("a socket", || link.exists().then_some(()));
        }
    }
    let ports = [(&*links[0], Role::Client), (&*links[count], Role::Client)];
    let text = netns
        .command("sh")
        .args(["-c", SCRIPT, "sh", &seconds.to_string(), "dpdk-testpmd"])
        .args(testpmd("generator", first, ports))
        .args(["--interactive"])
        .timeout(Duration::from_secs(seconds) + PATIENCE)
        .ok();
    routers.into_iter().for_each(|router| drop(router.stop()));
    drop(others);
    rate(&text)
}

/// Sum of the last rates of the ports in testpmd's words.
#[track_caller]
fn rate(text: &str) -> f64 {
    let rates: Vec<f64> = text
        .lines()
        .filter_map(|line| line.split_once("Rx-pps:")?.1.split_whitespace().next()?.parse().ok())
        .collect();
    let [.., one, two] = rates[..] else { panic!("testpmd said {text}") };
    one + two
}

// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! A router between two hosts of this machine: the kernel's own beside ours on each driver, in
//! turns.
//!
//! The hosts are network namespaces. Small packets are UDP datagrams of 18 bytes, frames of 60
//! bytes without checksum, sent as fast as one thread can; packets that reach the other host's
//! interface count. Hosts and router share the machine's cores, as in a first trial of a router.

mod loads;
mod memif;
mod report;
mod traffic;

use clap::{Parser, Subcommand};
use report::{Measured, Report};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;
use testkit::lab;
use tests::{Cable, RouterKind, Site};

/// A router between two hosts of this machine, on the kernel's interfaces.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    /// A short run that shows that everything runs; its figures mean nothing.
    #[arg(long)]
    smoke: bool,
    /// Rounds; each measures every router once, and the best of each counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// CPU time and latency of our router at 0, 10, 50 and 90 % of what it forwards, instead.
    #[arg(long)]
    loads: bool,
    /// Packets over memif through our router, beside DPDK's testpmd, instead.
    #[arg(long)]
    memif: bool,
    /// Workers of our router.
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

/// The parts of this program that run in the hosts.
#[derive(Subcommand)]
enum Role {
    /// Send small datagrams as fast as possible, or so many a second.
    Send { to: SocketAddr, seconds: u64, rate: Option<f64> },
    /// Receive datagrams until the end of the input, and say how many.
    Receive { at: SocketAddr },
}

/// The routers that are compared, with configuration of ours.
fn routers(workers: usize) -> [(&'static str, RouterKind, &'static str); 7] {
    const POLLING: &str = "interface { default-rx-mode polling }";
    let of = |cable| RouterKind::Ferrovia(workers, cable);
    let (veth, xdp, tap) = (of(Cable::Veth), of(Cable::Xdp), of(Cable::Tap));
    [
        ("Linux", RouterKind::Linux, ""),
        ("AF_PACKET", veth, ""),
        ("AF_PACKET, polling", veth, POLLING),
        ("AF_XDP", xdp, ""),
        ("AF_XDP, polling", xdp, POLLING),
        ("tap", tap, ""),
        ("tap, polling", tap, POLLING),
    ]
}

fn measure(lab: &lab::Lab, which: RouterKind, more: &str, seconds: u64, smoke: bool) -> Measured {
    let site = Site::with(lab, which, more);
    let pings = if smoke { 10 } else { 400 };
    let time = Duration::from_secs(seconds);
    // The first packets find the neighbours.
    traffic::ping(&site, 2, 10);
    let round_trips = traffic::ping(&site, pings, 10);
    let small = traffic::small(&site, time, None);
    let tcp = traffic::tcp(&site, time);
    site.finish();
    Measured { small, tcp, round_trips }
}

fn run(arguments: &Arguments) -> ExitCode {
    let Some(lab) = lab::require(&["root", "ping", "iperf3"]) else {
        eprintln!(
            "bench-host: needs root, ping and iperf3 (packages iputils-ping and iperf3): nothing was measured"
        );
        return if arguments.smoke { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    };
    let (rounds, seconds) =
        if arguments.smoke { (1, 1) } else { (arguments.rounds, arguments.seconds) };
    if arguments.memif {
        return memif::run(&lab, rounds, seconds);
    }
    let routers = routers(arguments.workers);
    if arguments.loads {
        println!("{}", loads::head());
        for round in 1..=rounds {
            for (name, which, more) in routers {
                if which == RouterKind::Linux {
                    continue;
                }
                eprintln!("round {round} of {rounds}: {name}");
                let site = Site::with(&lab, which, more);
                let all = loads::measure(&site, name, Duration::from_secs(seconds));
                all.iter().for_each(|load| println!("{load}"));
                site.finish();
            }
        }
        return ExitCode::SUCCESS;
    }
    let mut report = Report::new(routers.map(|(name, ..)| name).to_vec());
    for round in 1..=rounds {
        for (at, (name, which, more)) in routers.into_iter().enumerate() {
            eprintln!("round {round} of {rounds}: {name}");
            report.add(at, measure(&lab, which, more, seconds, arguments.smoke));
        }
    }
    print!("{report}");
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.role {
        None => return run(&arguments),
        Some(Role::Send { to, seconds, rate }) => {
            traffic::send(to, Duration::from_secs(seconds), rate)
        }
        Some(Role::Receive { at }) => traffic::receive(at),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-host: {error}");
            ExitCode::FAILURE
        }
    }
}

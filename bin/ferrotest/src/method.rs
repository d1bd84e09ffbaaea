// SPDX-License-Identifier: Apache-2.0
//! Traffic and procedure of a measurement in words, as a paper needs them, and the threads that
//! take part.

use measure::siitperf::{Span, Vary};
use measure::{Direction, Mode, Size};

use crate::bench::Traffic;
use crate::dut::Spec;
use crate::lab::End;
use crate::modes::{NAT, Settings};
use crate::traffic::Kind;
use crate::traffic::random::{DESTINATION, SOURCE, Spread};
use crate::traffic::size::FCS;

/// Facts about a measurement, each with its name.
pub fn facts(mode: Mode, traffic: &Traffic, settings: &Settings) -> Vec<(String, String)> {
    let mode = if mode == Mode::Scale { settings.search } else { mode };
    let size = match traffic.real_size() {
        Size::Bytes(n) => format!("{n} bytes with FCS, {} without", n.saturating_sub(FCS as u32)),
        Size::Imix => "28 × 64, 16 × 570 and 4 × 1518 bytes with FCS".into(),
    };
    let protocol = match traffic.kind {
        Kind::Ip4 => "UDP over IPv4",
        Kind::Ip6 => "UDP over IPv6",
        Kind::Ethernet => "Ethernet frames without IP",
    };
    let tag = traffic.vlan.map_or(String::new(), |vlan| format!(", VLAN {vlan}"));
    let mut facts = vec![
        ("Frame size", size),
        ("Protocol", format!("{protocol}{tag}")),
        ("Directions", directions(traffic).into()),
    ];
    if traffic.kind != Kind::Ethernet {
        facts.push(("Addresses", addresses(traffic)));
        facts.push(("Ports", ports(traffic)));
        facts.push(("Flows per direction", flows(traffic)));
    }
    facts.push(("Trial", format!("{} s", settings.duration)));
    facts.push(("Wait for late frames", format!("{} s", settings.wait)));
    facts.push(("Attempts at a trial that isn't valid", settings.attempts.to_string()));
    facts.push(("Repeats", settings.repeats.to_string()));
    facts.push(("Loss tolerance", tolerance(mode).into()));
    if let Some(search) = search(mode, settings) {
        facts.push(("Search", search));
    }
    facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

fn directions(traffic: &Traffic) -> &'static str {
    match traffic.directions.as_slice() {
        [Direction::Forward] => "left to right",
        [Direction::Reverse] => "right to left",
        _ => "both at once; rates are per direction",
    }
}

/// Sources and destinations of forward traffic.
fn addresses(traffic: &Traffic) -> String {
    let range = |end: End, spread: Spread| {
        let ends = match spread {
            Spread::Fixed => end.addresses().fixed(),
            _ => end.addresses().range,
        };
        let first = match traffic.kind {
            Kind::Ip6 => ends.ip6.to_string(),
            _ => ends.ip4.to_string(),
        };
        match spread {
            Spread::Fixed => first,
            Spread::Random(n) => format!("{n} from {first} on, each as often"),
            Spread::Zipf(n) => format!("{n} from {first} on, by Zipf's law"),
        }
    };
    format!("left {}; right {}", range(End::Left, traffic.src), range(End::Right, traffic.dst))
}

fn span(span: Span) -> String {
    match span.vary {
        Vary::Fixed => span.min.to_string(),
        Vary::Increase => format!("{}–{} ascending", span.min, span.max),
        Vary::Decrease => format!("{}–{} descending", span.max, span.min),
        Vary::Random => format!("{}–{} pseudorandom", span.min, span.max),
    }
}

fn ports(traffic: &Traffic) -> String {
    let ports = traffic.ports[0];
    let rfc4814 = ports.source == SOURCE && ports.destination == DESTINATION;
    format!(
        "source {}, destination {}{}",
        span(ports.source),
        span(ports.destination),
        if rfc4814 { " for each frame (RFC 4814)" } else { "" }
    )
}

/// Combinations of addresses, protocol and ports: flows as a hash of five fields sees them.
fn flows(traffic: &Traffic) -> String {
    let count = |span: Span| match span.vary {
        Vary::Fixed => 1,
        _ => u64::from(span.max.saturating_sub(span.min)) + 1,
    };
    let ports = traffic.ports[0];
    let ports = count(ports.source) * count(ports.destination);
    let pairs = traffic.flows();
    let grouped = |n: u64| measure::report::grouped(n as f64);
    let s = |n: u64| if n == 1 { "" } else { "s" };
    let all = pairs.saturating_mul(ports);
    format!(
        "{} ({} pair{} of addresses, {} pair{} of ports); a trial has one for each of its frames \
         at most",
        grouped(all),
        grouped(pairs),
        s(pairs),
        grouped(ports),
        s(ports)
    )
}

fn tolerance(mode: Mode) -> &'static str {
    match mode {
        Mode::Ndrpdr => "ndr: no frame; pdr: 0.5 % of the frames",
        Mode::Throughput
        | Mode::Selftest
        | Mode::B2b
        | Mode::NatThroughput
        | Mode::NatCps
        | Mode::NatCapacity => "no frame",
        Mode::Latency | Mode::Pdv | Mode::Ipdv | Mode::Recovery | Mode::Reconfig => {
            "no frame, where the load is a share of the throughput"
        }
        _ => "any: the loss is the result",
    }
}

fn search(mode: Mode, settings: &Settings) -> Option<String> {
    let highest = match settings.max_rate {
        Some(rate) => format!("{rate} frames/s"),
        None => "the link's rate, or 1.2 times what the tester sends at full speed".into(),
    };
    let width = settings.width * 100.0;
    let retry = if settings.profile.is_rfc2544() {
        "one trial decides"
    } else {
        "a rate at which frames are lost is tried once more"
    };
    match mode {
        Mode::Mrr | Mode::Reset if settings.rate.is_some() => None,
        Mode::Mrr => Some("none: as fast as the tester sends".into()),
        Mode::Loss => Some(format!("from {highest} down in steps of 10 %, to two without loss")),
        Mode::Ndrpdr => Some(format!(
            "MLRsearch (RFC 9971) from {highest}, to a width of {width} %; {} s of trials decide",
            settings.profile.duration_sum() * settings.duration / settings.profile.duration()
        )),
        mode if settings.rate.is_some() && !matches!(mode, Mode::Throughput | Mode::Selftest) => {
            Some(format!("none: {} frames/s as asked for", settings.rate.unwrap_or(0.0)))
        }
        Mode::B2b => Some("binary, over the length of the burst, up to 2 s".into()),
        mode if NAT.contains(&mode) => Some(format!("binary, to a width of {width} %")),
        _ => Some(format!(
            "binary (RFC 2544, 26.1) from {highest} down, to a width of {width} % of the upper \
             bound; {retry}"
        )),
    }
}

/// Threads of the tester that are busy in a trial.
pub fn tester_threads(directions: usize) -> u32 {
    // One that sends and one that receives for each direction, and one that answers questions for
    // the tester's addresses.
    2 * directions as u32 + 1
}

/// Threads of the device that are busy in a trial: those that forward, and the one that controls.
/// The kernel forwards on the core of the sender.
pub fn device_threads(spec: &Spec, workers: u32) -> u32 {
    match spec {
        Spec::Ferrovia(_) | Spec::Vpp(_) => workers.max(1) + 1,
        _ => 0,
    }
}

/// The tester's threads and those of each device, with their cores.
pub fn placement(
    devices: &[Spec],
    directions: usize,
    workers: u32,
    cores: u32,
) -> Vec<(String, String)> {
    let any = format!("on any of {cores} cores, chosen by the kernel");
    let tester = (
        "ferrotest".to_string(),
        format!(
            "{} ({directions} sending, {directions} receiving, 1 for neighbours), {any}",
            tester_threads(directions)
        ),
    );
    let of = |spec: &Spec| {
        let text = match (spec, device_threads(spec, workers)) {
            (Spec::None(_), _) => return None,
            (Spec::Linux(_), _) => {
                "none of its own: the kernel forwards on the sender's core".into()
            }
            (Spec::External(_), _) => "not known".into(),
            (_, n) => {
                let s = if workers == 1 { "" } else { "s" };
                format!("{n} ({workers} worker{s}, 1 main), {any}")
            }
        };
        Some((spec.to_string(), text))
    };
    std::iter::once(tester).chain(devices.iter().filter_map(of)).collect()
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use measure::Profile;

    #[suite::test]
    fn facts_say_what_a_paper_needs() {
        let settings = Settings::of(Profile::Quick);
        let all = |traffic: &Traffic, mode| {
            let facts = facts(mode, traffic, &settings);
            facts.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        assert_eq!(
            all(&Traffic::default(), Mode::Throughput),
            [
                "Frame size: 64 bytes with FCS, 60 without",
                "Protocol: UDP over IPv4",
                "Directions: both at once; rates are per direction",
                "Addresses: left 198.18.0.2; right 198.19.0.2",
                "Ports: source 1024–65535 pseudorandom, destination 1–49151 pseudorandom for each \
                 frame (RFC 4814)",
                "Flows per direction: 3,170,829,312 (1 pair of addresses, 3,170,829,312 pairs of \
                 ports); a trial has one for each of its frames at most",
                "Trial: 1 s",
                "Wait for late frames: 0.2 s",
                "Attempts at a trial that isn't valid: 3",
                "Repeats: 3",
                "Loss tolerance: no frame",
                "Search: binary (RFC 2544, 26.1) from the link's rate, or 1.2 times what the tester \
                 sends at full speed down, to a width of 1 % of the upper bound; a rate at which \
                 frames are lost is tried once more",
            ]
        );
        let wide = Traffic {
            kind: Kind::Ip6,
            size: Size::Imix,
            dst: Spread::Zipf(9),
            directions: vec![Direction::Forward],
            ..Traffic::default()
        };
        let facts = all(&wide, Mode::Mrr).join("\n");
        for part in
            ["28 × 64", "UDP over IPv6", "left to right", "9 from 2001:2:0:8001::", "none: as fast"]
        {
            assert!(facts.contains(part), "{part}: {facts}");
        }
    }

    #[suite::test]
    fn threads_of_tester_and_device_are_counted() {
        let devices = ["linux", "ferrovia"].map(|spec| spec.parse().unwrap());
        assert_eq!((tester_threads(2), device_threads(&devices[1], 2)), (5, 3));
        let placed = placement(&devices, 2, 1, 4);
        assert_eq!(placed.len(), 3);
        assert!(placed[2].1.starts_with("2 (1 worker, 1 main), on any of 4 cores"), "{placed:?}");
    }
}

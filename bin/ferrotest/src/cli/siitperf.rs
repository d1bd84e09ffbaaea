// SPDX-License-Identifier: Apache-2.0
//! Configuration files of siitperf as traffic of this tester. Those of stateful tests (RFC 9693)
//! are for the modes of NAT; their numbers of sessions and rates are siitperf's arguments, here
//! `--sessions` and `--session-rate`.

use std::mem::swap;

use measure::siitperf::{Ports, Side, Siitperf, Span, Stateful, Vary};
use measure::{Direction, Mode};

use crate::bench::Traffic;
use crate::modes::NAT;
use crate::traffic::Kind;
use crate::traffic::random::{MOST_ADDRESSES, Spread};
use crate::traffic::sessions::Combinations;

/// Ports that don't vary: those of RFC 2544 appendix C.2.6.4.
const FIXED: (u16, u16) = (0xc020, 7);

/// Reads a file. The initiator of a stateful test is on the left afterwards: the laboratory is
/// the same on both sides.
pub fn read(path: &str) -> Result<Box<Siitperf>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let file = Siitperf::parse(&text).map_err(|error| error.to_string()).and_then(accepted);
    file.map(Box::new).map_err(|why| format!("{path}: {why}"))
}

fn accepted(mut file: Siitperf) -> Result<Siitperf, String> {
    if file.left.version != file.right.version {
        return Err("translation between IPv4 and IPv6 is not built yet".into());
    }
    if file.stateful != Stateful::No {
        stateful(&file)?;
    } else if !file.forward && !file.reverse {
        return Err("neither direction is active".into());
    }
    if file.stateful == Stateful::InitiatorRight {
        swap(&mut file.left, &mut file.right);
        swap(&mut file.forward, &mut file.reverse);
        swap(&mut file.forward_ports, &mut file.reverse_ports);
    }
    Ok(file)
}

/// Digit of siitperf for a change of values.
fn digit(vary: Vary) -> u8 {
    match vary {
        Vary::Fixed => 0,
        Vary::Increase => 1,
        Vary::Decrease => 2,
        Vary::Random => 3,
    }
}

/// Names the first key of a stateful test that has no counterpart.
fn stateful(file: &Siitperf) -> Result<(), String> {
    let (direction, ports) = match file.stateful {
        Stateful::InitiatorRight => ("Rev", file.reverse_ports),
        _ => ("Fwd", file.forward_ports),
    };
    if file.left.version != 4 {
        return Err("IP-L-Vers 6: sessions are measured with IPv4 only, expected 4".into());
    }
    if file.enumerate_addresses != Vary::Fixed {
        return Err(format!(
            "Enumerate-ips {}: sessions have one address on each side, expected 0 and Enumerate-ports",
            digit(file.enumerate_addresses)
        ));
    }
    for (side, name) in [(&file.left, "L"), (&file.right, "R")] {
        if side.addresses.vary != Vary::Fixed {
            let vary = digit(side.addresses.vary);
            return Err(format!(
                "IP-{name}-var {vary}: sessions have one address on each side, expected 0"
            ));
        }
        if side.networks > 1 {
            return Err(format!(
                "Num-{name}-Nets {}: sessions have one address on each side, expected 1",
                side.networks
            ));
        }
    }
    if file.enumerate_ports == Vary::Fixed {
        return Err("Enumerate-ports 0: each packet of the first phase opens a session, expected \
                    1 (ascending), 2 (descending) or 3 (pseudorandom)"
            .into());
    }
    for (span, name) in [(ports.source, "sport"), (ports.destination, "dport")] {
        if span.vary != Vary::Random {
            return Err(format!(
                "{direction}-var-{name} {}: packets of open sessions are drawn from all of them, \
                 expected 3; a range of one port doesn't vary",
                digit(span.vary)
            ));
        }
    }
    Ok(())
}

/// Number of sessions, if the command line doesn't have it: as many as the ports make.
pub fn sessions(file: &Siitperf) -> Result<Option<u32>, String> {
    if file.stateful == Stateful::No {
        return Ok(None);
    }
    let total = Combinations::new(file.forward_ports, 0).total();
    let few = u32::try_from(total).map_err(|_| {
        format!("--siitperf: the file's ports make {total} sessions, expected --sessions")
    })?;
    Ok(Some(few))
}

/// Refuses modes that a file isn't for.
pub fn check(file: &Siitperf, modes: &[Mode]) -> Result<(), String> {
    if file.stateful == Stateful::No {
        return Ok(());
    }
    if let Some(other) = modes.iter().find(|mode| !NAT.contains(mode)) {
        return Err(format!(
            "--siitperf: the file's Stateful is for nat-cps, nat-capacity, nat-teardown and \
             nat-throughput, not for {other}"
        ));
    }
    if !file.forward && !file.reverse && modes.contains(&Mode::NatThroughput) {
        return Err(
            "--siitperf: nat-throughput needs a direction, expected Forward 1 or Reverse 1 \
                    in the file"
                .into(),
        );
    }
    Ok(())
}

/// Addresses of a side. Several networks of siitperf, with one address each, become as many
/// neighbouring addresses: the laboratory has one network on each side.
fn spread(side: &Side) -> Spread {
    if side.addresses.vary == Vary::Fixed {
        return match side.networks {
            0 | 1 => Spread::Fixed,
            networks => Spread::Random(networks.into()),
        };
    }
    let count = u32::from(side.addresses.max.saturating_sub(side.addresses.min)) + 1;
    Spread::Random(count.min(MOST_ADDRESSES))
}

/// Ports of packets: fixed ones are siitperf's, whatever the range is.
fn ports(all: Ports) -> Ports {
    let one = |span: Span, port| match span.vary {
        Vary::Fixed => Span { vary: Vary::Fixed, min: port, max: port },
        _ => span,
    };
    Ports { source: one(all.source, FIXED.0), destination: one(all.destination, FIXED.1) }
}

/// Traffic of a file, in all else like other traffic.
pub fn traffic(file: &Siitperf, like: Traffic) -> Traffic {
    let kind = if file.left.version == 4 { Kind::Ip4 } else { Kind::Ip6 };
    let directions = [(file.forward, Direction::Forward), (file.reverse, Direction::Reverse)];
    let mut directions: Vec<_> =
        directions.into_iter().filter(|(active, _)| *active).map(|(_, d)| d).collect();
    if directions.is_empty() {
        // A stateful test may have a first phase only.
        directions.push(Direction::Forward);
    }
    Traffic {
        kind,
        ports: [ports(file.forward_ports), ports(file.reverse_ports)],
        src: spread(&file.left),
        dst: spread(&file.right),
        directions,
        ..like
    }
}

#[cfg(feature = "tests")]
#[path = "siitperf_tests.rs"]
mod tests;

// SPDX-License-Identifier: Apache-2.0
//! The checks of interfaces of Linux: what their drivers do to packets that the daemon gets.

use super::daemon::{Daemon, Use};
use super::machine::{Machine, has_program};
use super::{Finding, State};
use std::process::Command;

const CHECK: &str = "offloads";

/// Checks each interface of Linux that the daemon uses.
pub fn all(machine: &Machine, daemon: &Daemon) -> Vec<Finding> {
    if daemon.netdevs.is_empty() {
        return Vec::new();
    }
    if !has_program("ethtool") {
        return vec![Finding::to_mend(
            CHECK,
            State::Unknown,
            "ethtool isn't installed",
            "it reads what the drivers do to packets",
            "apt-get install ethtool",
        )];
    }
    daemon.netdevs.iter().map(|(name, of)| check(machine, name, *of, &features)).collect()
}

/// Answers of `ethtool -k`, by the name of an interface.
fn features(name: &str) -> Option<String> {
    let output = Command::new("ethtool").args(["-k", name]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_on(features: &str, name: &str) -> bool {
    let value = features.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    value.is_some_and(|value| value.trim().starts_with("on"))
}

/// Checks an interface by what a function tells of its features.
pub fn check(
    machine: &Machine,
    name: &str,
    of: Use,
    features: &dyn Fn(&str) -> Option<String>,
) -> Finding {
    let Some(own) = features(name) else {
        return Finding::unknown(CHECK, format!("{name}: not in this network namespace"));
    };
    if of == Use::AfPacket {
        // Merged packets and partial checksums are told by the socket.
        return Finding::good(CHECK, format!("{name}: told with each packet"));
    }
    // AF_XDP has no field for either: merged packets don't fit, and a partial checksum is wrong.
    for (feature, word) in [("large-receive-offload", "lro"), ("rx-gro-hw", "rx-gro-hw")] {
        if is_on(&own, feature) {
            return Finding::to_mend(
                CHECK,
                State::Problem,
                format!("{name}: {feature} is on"),
                "packets that the device merged are longer than a buffer of AF_XDP, and dropped",
                format!("ethtool -K {name} {word} off"),
            );
        }
    }
    let class = format!("sys/class/net/{name}");
    let number = |file: &str| machine.number(&format!("{class}/{file}"));
    let (index, link) = (number("ifindex"), number("iflink"));
    // Both ends of a pair name the other one.
    if link.is_none() || link == index {
        return Finding::good(CHECK, format!("{name}: none that AF_XDP can't bear"));
    }
    let is_peer = |other: &String| {
        let number = |file: &str| machine.number(&format!("sys/class/net/{other}/{file}"));
        number("ifindex") == link && number("iflink") == index
    };
    let why = "packets of the other end come without a checksum, and AF_XDP doesn't tell so: \
               hosts behind the router drop them";
    match machine.names("sys/class/net").into_iter().find(is_peer) {
        Some(peer) => match features(&peer) {
            Some(text) if !is_on(&text, "tx-checksumming") => {
                Finding::good(CHECK, format!("{name}: its peer {peer} makes checksums"))
            }
            _ => Finding::to_mend(
                CHECK,
                State::Problem,
                format!("{name}: its peer {peer} leaves checksums to the device"),
                why,
                format!("ethtool -K {peer} tx off"),
            ),
        },
        None => Finding::to_mend(
            CHECK,
            State::Advice,
            format!("{name}: its peer is in another network namespace"),
            why,
            "ip netns exec NAMESPACE ethtool -K PEER tx off",
        ),
    }
}

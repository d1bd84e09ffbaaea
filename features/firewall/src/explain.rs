// SPDX-License-Identifier: Apache-2.0
//! `firewall explain`: the rule that would decide about a packet, found one rule after the other.

use crate::control::Firewall;
use crate::model::Action;
use crate::packet::{Icmp, Packet};
use crate::rules::{NO_ZONE, SELF};
use crate::show::done;
use crate::state::Config;
use crate::values::{FlagMatch, Icmp as IcmpWord, Protocol};
use acl::packet::{PacketUpper, Part, Tuple};
use cli::{Error, Matches, Output, Result};
use graph::World;
use net::Interfaces;
use object::Choice;
use serde_json::json;
use std::net::IpAddr;
use wire::{IpProtocol, TcpFlags};

/// The words of a packet.
pub const USAGE: &str = "<source:ip> <destination:ip> <protocol:word> [sport <sport:u16>] \
                         [dport <dport:u16>] [icmp <icmp:word>] [tcp-flags <flags:word>] \
                         [dscp <dscp:0-63>] [length <length:u16>] from <from:word> to <to:word>";

/// Bytes of a packet without another length: the headers of a request of TCP.
const LENGTH: u16 = 40;

/// A zone by its name or by that of an interface in it; and the interface.
fn end(w: &World, config: &Config, name: &str) -> Result<(u16, u32)> {
    if let Ok(sw_if) = w.get::<Interfaces>().find(name) {
        let zone = config.interfaces.get(&sw_if).copied().unwrap_or(NO_ZONE);
        return Ok((zone, sw_if.0));
    }
    config.zone(name).map(|zone| (zone, u32::MAX))
}

/// `firewall explain`.
pub fn explain(w: &World, m: &Matches) -> Result<Output> {
    let config = w.get::<Firewall>().running();
    let (source, destination): (IpAddr, IpAddr) = (m.req("source")?, m.req("destination")?);
    if source.is_ipv4() != destination.is_ipv4() {
        let why = "source and destination are of two IP versions";
        return Err(Error::parse(why).at(m.span("destination")));
    }
    let packet = packet(m, source, destination)?;
    let (from, input) = end(w, &config, m.str("from")).map_err(m.at("from"))?;
    let (to, output) = end(w, &config, m.str("to")).map_err(m.at("to"))?;
    let names = [from, to].map(|zone| config.zone_name(zone).to_string());
    let answer = |text: String, action: Option<Action>, rule: Option<(u32, Option<&str>)>| {
        let value = json!({
            "from": names[0], "to": names[1],
            "action": action.map_or("unchecked", Choice::word),
            "rule": rule.map(|(number, _)| number),
            "rule_name": rule.and_then(|(_, name)| name),
            "why": text,
        });
        Ok(Output::both(format!("{text}\n"), value))
    };
    let [out, back] = &names;
    if from == NO_ZONE || to == NO_ZONE {
        return answer("not checked: an interface is in no zone".to_string(), None, None);
    }
    let Some(policy) = config.policies.get(&[from, to]) else {
        return match from == to {
            true => answer(format!("not checked: within zone {out}"), None, None),
            false => {
                let why = format!("dropped: there is no policy from {out} to {back}");
                answer(why, Some(Action::Drop), None)
            }
        };
    };
    if from == SELF && packet.icmp == Some(Icmp::Error) {
        return answer("not checked: an error of the router itself".to_string(), None, None);
    }
    let set = |name: &str| config.sets.get(name).map(|set| &set.members);
    let mut rules = policy.rules.iter();
    let found = rules.find(|(_, counted)| counted.rule.matches(&packet, [input, output], &set));
    let Some((number, counted)) = found else {
        let action = policy.options.otherwise;
        let why = format!("{} by the default of the policy from {out} to {back}", done(action));
        return answer(why, Some(action), None);
    };
    let (action, name) = (counted.rule.action, counted.rule.name.as_deref());
    let named = name.map_or_else(String::new, |name| format!(" ({name})"));
    let rate = counted.rule.rate.map_or_else(String::new, |n| format!(", {n} in a second"));
    let text = format!(
        "{} by rule {number}{named} of the policy from {out} to {back}{rate}",
        done(action)
    );
    answer(text, Some(action), Some((*number, name)))
}

/// The packet that the words describe; the first of its flow without other words.
fn packet(m: &Matches, source: IpAddr, destination: IpAddr) -> Result<Packet<IpAddr>> {
    let protocol: Protocol = m.str("protocol").parse().map_err(m.at("protocol"))?;
    let is_icmp = matches!(IpProtocol(protocol.0), IpProtocol::ICMP | IpProtocol::ICMP6);
    let word = |name: &str| m.has(name).then(|| m.str(name).to_string());
    let echo = if IpProtocol(protocol.0) == IpProtocol::ICMP { 8 } else { 128 };
    let icmp =
        word("icmp").map(|word| word.parse::<IcmpWord>()).transpose().map_err(m.at("icmp"))?;
    let flags = word("flags").map(|word| word.parse::<FlagMatch>()).transpose();
    let flags = flags.map_err(m.at("flags"))?.map_or(TcpFlags::SYN.0, |flags| flags.value);
    let is_tcp = IpProtocol(protocol.0) == IpProtocol::TCP;
    let (mut from, mut to) = (m.opt("sport")?.unwrap_or(0), m.opt("dport")?.unwrap_or(0));
    if is_icmp {
        from = icmp.map_or(echo, |icmp| icmp.kind.into());
        to = icmp.and_then(|icmp| icmp.code).unwrap_or(0).into();
    }
    let upper = PacketUpper {
        protocol: protocol.0,
        part: Part::Whole,
        flags: if is_tcp { flags } else { 0 },
        source: from,
        destination: to,
    };
    Ok(Packet {
        tuple: Tuple { source, destination, upper },
        id: 0,
        icmp: is_icmp.then(|| Icmp::of(IpProtocol(protocol.0), from as u8)),
        dscp: m.opt("dscp")?.unwrap_or(0),
        length: m.opt("length")?.unwrap_or(LENGTH),
        upper_at: 0,
        later: false,
        more: false,
    })
}

// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `firewall`. Conditions of rules and members of sets are text, as commands
//! have them.

use crate::control::{Firewall, Target};
use crate::model::{self, Action, PolicyOptions, Rule};
use crate::rules::Policy;
use crate::sets::{Members, Set};
use crate::show::member_words;
use crate::values::{network, range};
use crate::zone::ZoneLimits;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Messages, Module, Str};
use net::Interfaces;
use net::api::InterfaceIndex;
use std::fmt::Display;
use std::str::FromStr;

/// Messages of this feature, under the module name that clients ask for.
pub static API: Module<World> = Module::plugin("firewall", messages);

/// Messages change the draft, if a client has opened one.
const OPEN: Target = Target::Open;
/// No condition on the code point.
const ANY_DSCP: u8 = u8::MAX;

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: FirewallZoneAddDel| {
        let firewall = w.get::<Firewall>();
        let limits = ZoneLimits { sessions: r.most_sessions, rate: r.most_in_a_second };
        match r.is_add {
            true => firewall.set_zone(OPEN, r.name.as_str(), limits),
            false => firewall.delete_zone(OPEN, w, r.name.as_str()),
        }
    });
    m.dump(|w, _: FirewallZoneDump| {
        let zones = w.get::<Firewall>().running().zones.into_iter();
        let details = zones.map(|(name, zone)| FirewallZoneDetails {
            name: name.into(),
            most_sessions: zone.limits.sessions,
            most_in_a_second: zone.limits.rate,
            sessions: zone.used.sessions(),
        });
        Ok(details.collect::<Vec<_>>())
    });
    m.call(|w, r: FirewallInterfaceSetZone| {
        let zone = Some(r.zone.as_str()).filter(|zone| !zone.is_empty());
        w.get::<Firewall>().set_interface(w, SwIfIndex(r.sw_if_index.0), zone)
    });
    m.dump(|w, _: FirewallInterfaceDump| {
        let config = w.get::<Firewall>().running();
        let details = config.interfaces.iter().map(|(sw_if, zone)| FirewallInterfaceDetails {
            sw_if_index: (*sw_if).into(),
            zone: config.zone_name(*zone).into(),
        });
        Ok(details.collect::<Vec<_>>())
    });
    m.call(|w, r: FirewallPolicyAddDel| {
        let (firewall, pair) = (w.get::<Firewall>(), [r.from_zone.as_str(), r.to_zone.as_str()]);
        let options = PolicyOptions { otherwise: r.otherwise.into(), log: r.log, loose: r.loose };
        match r.is_add {
            true => firewall.set_policy(OPEN, pair, options),
            false => firewall.delete_policy(OPEN, pair),
        }
    });
    m.call(|w, r: FirewallPolicySetRules| {
        let rules = r.rules.iter().map(|rule| Ok((rule.number, rule_of(rule)?)));
        let rules = rules.collect::<Result<Vec<_>>>()?;
        w.get::<Firewall>().set_rules(OPEN, [r.from_zone.as_str(), r.to_zone.as_str()], rules)
    });
    m.call(|w, r: FirewallRuleAddDel| {
        let (firewall, pair) = (w.get::<Firewall>(), [r.from_zone.as_str(), r.to_zone.as_str()]);
        match r.is_add {
            true => firewall.set_rule(OPEN, pair, r.rule.number, rule_of(&r.rule)?),
            false => firewall.delete_rule(OPEN, pair, Some(r.rule.number)),
        }
    });
    m.dump(|w, _: FirewallPolicyDump| {
        let config = w.get::<Firewall>().running();
        let details = config.pairs().into_iter().filter_map(|pair| {
            let [from, to] = pair.map(|zone| config.zone_name(zone));
            Some(policy_details((from, to), config.policies.get(&pair)?))
        });
        Ok(details.collect::<Vec<_>>())
    });
    m.call(|w, r: FirewallSetAddDel| {
        let members = members_of(w, r.kind, &r.members)?;
        w.get::<Firewall>().change_set(OPEN, r.name.as_str(), members, r.is_add)
    });
    m.call(|w, r: FirewallSetDel| w.get::<Firewall>().delete_set(OPEN, r.name.as_str()));
    m.dump(|w, _: FirewallSetDump| {
        let sets = w.get::<Firewall>().running().sets.into_iter();
        Ok(sets.map(|(name, set)| set_details(w, name, &set)).collect::<Vec<_>>())
    });
    m.call(|w, _: FirewallBegin| w.get::<Firewall>().begin());
    m.call(|w, _: FirewallCommit| w.get::<Firewall>().commit(w));
    m.call(|w, _: FirewallAbort| w.get::<Firewall>().abort());
}

impl From<FirewallAction> for Action {
    fn from(action: FirewallAction) -> Self {
        match action {
            FirewallAction::Accept => Self::Accept,
            FirewallAction::Drop => Self::Drop,
            FirewallAction::Reject => Self::Reject,
        }
    }
}

impl From<Action> for FirewallAction {
    fn from(action: Action) -> Self {
        match action {
            Action::Accept => Self::Accept,
            Action::Drop => Self::Drop,
            Action::Reject => Self::Reject,
        }
    }
}

/// A condition; none for no text.
fn read<T: FromStr<Err = cli::Error>, const N: usize>(text: &Str<N>) -> Result<Option<T>> {
    let text = text.as_str();
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

fn word<const N: usize>(text: &Str<N>) -> Option<String> {
    Some(text.as_str().to_string()).filter(|text| !text.is_empty())
}

fn rule_of(rule: &FirewallRule) -> Result<Rule> {
    Ok(Rule {
        action: rule.action.into(),
        name: word(&rule.name),
        source: read(&rule.source)?,
        destination: read(&rule.destination)?,
        protocol: read(&rule.protocol)?,
        source_ports: read(&rule.source_ports)?,
        destination_ports: read(&rule.destination_ports)?,
        icmp: read(&rule.icmp)?,
        flags: read(&rule.tcp_flags)?,
        dscp: model::check_dscp(Some(rule.dscp).filter(|dscp| *dscp != ANY_DSCP))?,
        length: read(&rule.length)?,
        input: word(&rule.input),
        output: word(&rule.output),
        rate: Some(rule.most_in_a_second).filter(|rate| *rate > 0),
        log: rule.log,
    })
}

/// The text of a condition; "" for none.
fn text<const N: usize>(value: &Option<impl Display>) -> Str<N> {
    value.as_ref().map_or_else(String::new, ToString::to_string).into()
}

fn rule_to(number: u32, rule: &Rule) -> FirewallRule {
    FirewallRule {
        number,
        action: rule.action.into(),
        log: rule.log,
        dscp: rule.dscp.unwrap_or(ANY_DSCP),
        name: text(&rule.name),
        source: text(&rule.source),
        destination: text(&rule.destination),
        protocol: text(&rule.protocol),
        source_ports: text(&rule.source_ports),
        destination_ports: text(&rule.destination_ports),
        icmp: text(&rule.icmp),
        tcp_flags: text(&rule.flags),
        length: text(&rule.length),
        input: text(&rule.input),
        output: text(&rule.output),
        most_in_a_second: rule.rate.unwrap_or(0),
    }
}

fn policy_details((from, to): (&str, &str), policy: &Policy) -> FirewallPolicyDetails {
    let rules = policy.rules.iter().map(|(number, counted)| rule_to(*number, &counted.rule));
    FirewallPolicyDetails {
        from_zone: from.into(),
        to_zone: to.into(),
        otherwise: policy.options.otherwise.into(),
        log: policy.options.log,
        loose: policy.options.loose,
        rules: rules.collect(),
    }
}

fn members_of(w: &World, kind: FirewallSetKind, all: &[FirewallMember]) -> Result<Members> {
    let words = all.iter().map(|member| member.text.as_str());
    Ok(match kind {
        FirewallSetKind::Network => Members::Networks(words.map(network).collect::<Result<_>>()?),
        FirewallSetKind::Port => Members::Ports(words.map(range).collect::<Result<_>>()?),
        FirewallSetKind::Interface => {
            let interfaces = w.get::<Interfaces>();
            Members::Interfaces(words.map(|name| interfaces.find(name)).collect::<Result<_>>()?)
        }
    })
}

fn set_details(w: &World, name: String, set: &Set) -> FirewallSetDetails {
    let kind = match set.members {
        Members::Networks(_) => FirewallSetKind::Network,
        Members::Ports(_) => FirewallSetKind::Port,
        Members::Interfaces(_) => FirewallSetKind::Interface,
    };
    let words = member_words(w, &set.members).into_iter();
    let members = words.map(|text| FirewallMember { text: text.into() }).collect();
    FirewallSetDetails { name: name.into(), kind, members }
}

msg::messages! {
    /// The outcome for packets. VPP has no such type.
    FirewallAction,
    /// The kind of a set's members. VPP has no such type.
    FirewallSetKind,
    /// A member of a set: a network or an address, a port or a range, the name of an interface. VPP
    /// has no such type.
    FirewallMember,
    /// A rule. Conditions are text, as in the command `firewall rule`; without text, or with 255
    /// for the code point, anything meets them. VPP has no such type.
    FirewallRule,
    /// Makes a zone or sets its limits (0 for none), or deletes it. VPP has no such message.
    FirewallZoneAddDel,
    /// Asks for all zones but `self`. VPP has no such message.
    FirewallZoneDump,
    /// A zone, its limits, and the sessions that its hosts began. VPP has no such message.
    FirewallZoneDetails,
    /// Puts an interface into a zone; without a name, into none. VPP has no such message.
    FirewallInterfaceSetZone,
    /// Asks for the zones of interfaces. VPP has no such message.
    FirewallInterfaceDump,
    /// The zone of an interface. VPP has no such message.
    FirewallInterfaceDetails,
    /// Makes a policy of packets from one zone to another or sets its options, or deletes it. VPP
    /// has no such message.
    FirewallPolicyAddDel,
    /// Replaces all rules of a policy at once. VPP has no such message.
    FirewallPolicySetRules,
    /// Puts a rule into a policy, in the place of one with its number, or deletes it. VPP has no
    /// such message.
    FirewallRuleAddDel,
    /// Asks for all policies. VPP has no such message.
    FirewallPolicyDump,
    /// A policy, with its rules. VPP has no such message.
    FirewallPolicyDetails,
    /// Adds members to a set, which is made if it isn't there, or takes them out. VPP has no such
    /// message.
    FirewallSetAddDel,
    /// Deletes a set. VPP has no such message.
    FirewallSetDel,
    /// Asks for all sets. VPP has no such message.
    FirewallSetDump,
    /// A set. VPP has no such message.
    FirewallSetDetails,
    /// Opens a draft: changes wait until they are committed together. VPP has no such message.
    FirewallBegin,
    /// Puts all changes of the draft into force at once. VPP has no such message.
    FirewallCommit,
    /// Forgets the changes of the draft. VPP has no such message.
    FirewallAbort,
}

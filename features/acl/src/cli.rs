// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Acl, Acls};
use crate::list::Direction;
use crate::macip;
use crate::rule::{Action, Networks, Rule, Span, Upper};
use crate::settings::{Settings, Timeout};
use crate::show;
use crate::words::Reader;
use cli::{Command, Error, Matches, Output, Result, retval};
use graph::World;
use net::args::interface;
use serde_json::json;
use std::net::IpAddr;
use std::sync::atomic::Ordering;

/// The tag of an ACL that a command makes without one.
pub const TAG: &str = "cli";

/// The grammar of the rules.
const RULES: &str = "permit, deny or permit+reflect, then src PREFIX dst PREFIX [proto N] \
                     [sport N[-M]] [dport N[-M]] [tcpflags N mask N], further rules behind commas, [tag WORD]";

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an ACL, or replace one (`index'): verdict src PREFIX dst PREFIX [proto N] [sport
    /// N[-M]] [dport N[-M]] [tcpflags N mask N] [tag WORD], rules with commas between them
    "set acl-plugin acl",
    "[index <index:u32> | at <number:u32>] <rules:rest>" => set;
    /// Delete an ACL
    "delete acl-plugin acl", "index <index:u32>" => |w, m| {
        let number = m.req("index")?;
        w.get::<Acls>().delete(w, number).map_err(|e| e.at(m.span("index")))?;
        Ok(Output::both(format!("Deleted ACL index:{number}\n"), json!({ "index": number })))
    };
    /// Append an ACL to a list of an interface, or take it out
    "set acl-plugin interface",
    "<interface:interface> {input|output} acl <index:u32> [del]" => apply;
    /// Let only frames of these EtherTypes pass, beside IP, where an interface switches frames
    "set acl-plugin interface whitelist",
    "<interface:interface> [input <input:word>...] [output <output:word>...] [del]" => whitelist;
    /// Seconds without a packet after which a session ends
    "set acl-plugin session timeout",
    "{udp idle | tcp {idle|transient}} <seconds:1-4294967>" => timeout;
    /// Sessions at most; the others are settings of VPP without effect here
    "set acl-plugin session table",
    "{max-entries <most:u32> | hash-table-buckets <buckets:u32> | hash-table-memory <memory:size> | event-trace <trace:u32>}" => table;
    /// Setting of VPP without effect here: lookups take the same time for any number of rules
    "set acl-plugin use-hash-acl-matching", "<on:0-1>" => |w, m| {
        w.get::<Settings>().hash_lookup.store(m.req::<u8>("on")? == 1, Ordering::Relaxed);
        Ok(())
    };
    /// Setting of VPP without effect here: sessions are always judged again after a change
    "set acl-plugin reclassify-sessions", "<on:0-1>" => |w, m| {
        w.get::<Settings>().reclassify.store(m.req::<u8>("on")? == 1, Ordering::Relaxed);
        Ok(())
    };
    /// Match later fragments by addresses and protocol (1, the default), or not at all
    "set acl-plugin l4-match-nonfirst-fragment", "<on:0-1>" => |w, m| {
        w.get::<Settings>().match_fragments.store(m.req::<u8>("on")? == 1, Ordering::Relaxed);
        w.get::<Acls>().compile_again(w)
    };
    /// Look for the upper layer of IPv6 behind this extension header, or not
    "set acl-plugin skip-ipv6-extension-header", "<number:0-255> <on:0-1>" => |w, m| {
        w.get::<Settings>().skipped.set(m.req("number")?, m.req::<u8>("on")? == 1);
        Ok(())
    };
    /// Count the matches of each rule (`/acl/N/matches'), or end that
    "set acl-plugin counters", "{enable|disable}" => |w, m| {
        w.get::<Settings>().count_matches.store(m.flag("enable"), Ordering::Relaxed);
        Ok(())
    };
    /// End all sessions, or those of an interface
    "clear acl-plugin sessions", "[<interface:interface>]" => show::clear_sessions;
    /// ACLs, their rules, and where they are used
    "show acl-plugin acl", "[index <index:u32>]" => show::acls;
    /// Lists of ACLs of interfaces
    "show acl-plugin interface",
    "[sw_if_index <index:u32>] [acl] [detail]" => show::interfaces;
    /// Number of sessions, and the first of them
    "show acl-plugin sessions", "[verbose <most:u32>]" => show::sessions;
    /// Compiled lists of ACLs: rules and memory
    "show acl-plugin tables",
    "[acl [index <index:u32>] | applied [lc_index <context:u32>] | mask | hash [verbose <level:u32>]]" => show::tables;
    { macip::cli::SET };
    { macip::cli::DELETE };
    { macip::cli::APPLY };
    { macip::cli::SHOW_ACL };
    { macip::cli::SHOW_INTERFACE };
    /// Lists of ACLs of other features
    "show acl-plugin lookup context", "[index <index:u32>]" => show::contexts;
    /// Features with lists of ACLs
    "show acl-plugin lookup user", "[index <index:u32>]" => show::context_users;
    /// Memory of compiled lists
    "show acl-plugin memory" => show::tables;
};

impl Reader<'_> {
    fn span(&mut self) -> Result<Span> {
        let expected = "a number of 0 to 65535, or two with `-' between them";
        let word = self.next(expected)?;
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let number = |text: &str| text.parse().map_err(|_| self.wrong(expected, word));
        Span::new(number(first)?, number(last)?).map_err(|e| e.at(self.at()))
    }

    fn protocol(&mut self) -> Result<u8> {
        let expected = "a protocol's number, or tcp, udp, icmp, icmp6";
        let word = self.next(expected)?;
        Ok(match word {
            "tcp" => 6,
            "udp" => 17,
            "icmp" => 1,
            "icmp6" => 58,
            word => word.parse().map_err(|_| self.wrong(expected, word))?,
        })
    }

    fn rule(&mut self) -> Result<Rule> {
        let expected = "permit, deny or permit+reflect";
        let word = self.next(expected)?;
        let known = Action::ALL.into_iter().find(|action| action.name() == word);
        let action = known.ok_or_else(|| {
            self.wrong(expected, word).near(word, Action::ALL.map(Action::name)).hint(RULES)
        })?;
        let (mut source, mut destination, mut upper) = (None, None, Upper::ANY);
        let ends = |word: &str| word == "tag" || Action::ALL.iter().any(|a| a.name() == word);
        while let Some(word) = self.peek().filter(|word| !ends(word)) {
            self.next(word)?;
            match word {
                "src" => source = Some(self.prefix()?),
                "dst" => destination = Some(self.prefix()?),
                "proto" => upper.protocol = self.protocol()?,
                "sport" => upper.source = self.span()?,
                "dport" => upper.destination = self.span()?,
                "tcpflags" => upper.flags = self.number("flags of TCP, 0 to 255")?,
                "mask" => upper.flags_mask = self.number("a mask of flags, 0 to 255")?,
                _ => {
                    let known =
                        ["src", "dst", "proto", "sport", "dport", "tcpflags", "mask", "tag"];
                    return Err(self.wrong("a word of a rule", word).near(word, known).hint(RULES));
                }
            }
        }
        // A rule that names one network is for all of the other.
        let any = |other: (IpAddr, u8)| match other.0 {
            IpAddr::V4(_) => (IpAddr::from([0; 4]), 0),
            IpAddr::V6(_) => (IpAddr::from([0; 16]), 0),
        };
        let (source, destination) = match (source, destination) {
            (Some(source), Some(destination)) => (source, destination),
            (Some(source), None) => (source, any(source)),
            (None, Some(destination)) => (any(destination), destination),
            (None, None) => {
                let ip4 = (IpAddr::from([0; 4]), 0);
                (ip4, ip4)
            }
        };
        let networks = Networks::new(source, destination).map_err(|e| e.at(self.at()))?;
        Ok(Rule { action, networks, upper })
    }

    /// All rules, and the tag.
    fn acl(&mut self) -> Result<Acl> {
        let (mut rules, mut tag) = (Vec::new(), TAG.to_string());
        while self.peek().is_some() {
            if self.take("tag") {
                tag = self.next("a tag")?.to_string();
            } else {
                rules.push(self.rule()?);
            }
        }
        Ok(Acl { tag, rules: rules.into() })
    }
}

fn set(w: &World, m: &Matches) -> Result<Output> {
    let from = m.span("rules").map_or(0, |span| span.start);
    let acl = Reader::new(m.str("rules"), from).acl()?;
    let acls = w.get::<Acls>();
    let number = match m.opt("number")? {
        Some(number) => {
            acls.restore(w, number, acl)?;
            number
        }
        None => acls.set(w, m.opt("index")?, acl).map_err(|e| e.at(m.span("index")))?,
    };
    Ok(Output::both(format!("ACL index:{number}\n"), json!({ "index": number })))
}

fn apply(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    let direction = if m.flag("input") { Direction::Input } else { Direction::Output };
    let change = (m.req("index")?, !m.flag("del"));
    w.get::<Acls>().apply(w, sw_if, direction, change).map_err(|e| e.at(m.span("index")))?;
    Ok(())
}

fn whitelist(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    let of = |name: &str| -> Result<Vec<u16>> {
        let number = |word: String| {
            let digits = word.strip_prefix("0x").unwrap_or(&word);
            u16::from_str_radix(digits, 16).map_err(|_| {
                Error::parse(format!("expected an EtherType, such as 0806, not `{word}'"))
                    .at(m.span(name))
            })
        };
        m.all(name)?.into_iter().map(number).collect()
    };
    let whitelist = match m.flag("del") {
        true => Default::default(),
        false => [of("input")?, of("output")?],
    };
    w.get::<crate::switched::Whitelists>().set(w, sw_if, whitelist)?;
    Ok(())
}

fn timeout(w: &World, m: &Matches) -> Result<()> {
    let of = match (m.flag("udp"), m.flag("transient")) {
        (true, _) => Timeout::Udp,
        (false, true) => Timeout::TcpTransient,
        (false, false) => Timeout::TcpIdle,
    };
    w.get::<Settings>().set_timeout(of, m.req("seconds")?);
    Ok(())
}

fn table(w: &World, m: &Matches) -> Result<Output> {
    if let Some(most) = m.opt::<u32>("most")? {
        if most == 0 {
            let why =
                "expected at least one session: without any, no reflecting rule lets a packet pass";
            return Err(Error::parse(why).retval(retval::INVALID_VALUE).at(m.span("most")));
        }
        w.get::<Settings>().most_sessions.store(most, Ordering::Relaxed);
        return Ok(Output::empty());
    }
    Ok(Output::text("no effect: the table of sessions grows as it has to\n"))
}

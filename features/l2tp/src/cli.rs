// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::model::L2tp;
use crate::model::LookupBy;
use crate::sessions::Sessions;
use crate::show;
use cli::{Command, Error, Matches, Output, Result, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;
use tunnel::{TunnelEndpoints, Tunnels};

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create l2tpv3 tunnel",
        usage: concat!(
            "({client <client:ip>} {our <our:ip>} [local-cookie <localcookie:word>] [remote-cookie <remotecookie:word>] \
             [local-session <localsession:u32>] [remote-session <remotesession:u32>] [fib-id <table:u32>] [l2-sublayer-present] \
             [instance <instance:u32>] ",
            tunnel::marks_usage!(),
            " [del])"
        ),
        help: "Make an interface whose frames go to another router behind a session identifier and a cookie (hexadecimal), over IPv6",
        run: create,
    },
    Command {
        path: "set l2tpv3 tunnel cookie",
        usage: "<interface:interface> ([local <local:word>] [remote <remote:word>])",
        help: "Change the cookies of a session; packets with the local cookie before are accepted until the next change",
        run: set_cookies,
    },
    Command {
        path: "set l2tpv3 lookup",
        usage: "<lookup:v6-src|v6-dst|session-id>",
        help: "Choose the field of received packets that sessions are found by",
        run: set_lookup,
    },
    Command {
        path: "set interface ip6 l2tpv3",
        usage: "<interface:interface> [del]",
        help: "Take packets of L2TPv3 sessions out of the received packets before these are looked up",
        run: enable,
    },
    Command {
        path: "show l2tpv3",
        usage: "[verbose]",
        help: "L2TPv3 sessions; verbose: with cookies and counts",
        run: show::sessions,
    },
    Command {
        path: "clear l2tp counters",
        usage: "",
        help: "Start the counts of `show l2tpv3 verbose' again at zero",
        run: clear,
    },
    Command {
        path: "test lt2p counters",
        usage: "",
        help: "Add a packet of 64 bytes in each direction to the counts of `show l2tpv3 verbose'",
        run: test,
    },
];

/// Session identifiers and cookies that aren't given, as VPP has them.
const SESSION: u32 = 1;
const COOKIE: u64 = u64::MAX;

/// A cookie: hexadecimal digits, with or without 0x.
fn cookie(m: &Matches, name: &str) -> Result<Option<u64>> {
    if !m.has(name) {
        return Ok(None);
    }
    let word = m.str(name);
    let digits = word.strip_prefix("0x").unwrap_or(word);
    // A sign is no digit.
    let is_hex = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    match u64::from_str_radix(digits, 16).ok().filter(|_| is_hex) {
        Some(cookie) => Ok(Some(cookie)),
        None => {
            let why = format!("a cookie has up to 16 hexadecimal digits: {word}");
            Err(Error::parse(why).at(m.span(name)))
        }
    }
}

fn named(w: &World, m: &Matches) -> Result<SwIfIndex> {
    w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(m.span("interface")))
}

fn create(w: &World, m: &Matches) -> Result<Output> {
    let ends = TunnelEndpoints {
        local: m.req("our")?,
        remote: m.req("client")?,
        table: m.opt("table")?.unwrap_or(0),
    };
    let local_cookie = cookie(m, "localcookie")?.unwrap_or(COOKIE);
    let spec = L2tp {
        ends,
        marks: tunnel::parse(m)?,
        local_session: m.opt("localsession")?.unwrap_or(SESSION),
        remote_session: m.opt("remotesession")?.unwrap_or(SESSION),
        local_cookies: [local_cookie; 2],
        remote_cookie: cookie(m, "remotecookie")?.unwrap_or(COOKIE),
        sublayer: m.flag("l2-sublayer-present"),
    };
    if m.flag("del") {
        let tunnels = w.get::<Tunnels<L2tp>>();
        let sw_if = tunnels.find(w, &spec)?;
        tunnels.delete(w, sw_if)?;
        return Ok(Output::empty());
    }
    let sw_if = spec.create(w, m.opt("instance")?).map_err(|e| match () {
        () if e.is(retval::NO_SUCH_FIB) => e.at(m.span("table")),
        () if e.is(retval::INSTANCE_IN_USE) => e.at(m.span("instance")),
        () => e,
    })?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}

fn set_cookies(w: &World, m: &Matches) -> Result<Output> {
    let (local, remote) = (cookie(m, "local")?, cookie(m, "remote")?);
    if local.is_none() && remote.is_none() {
        return Err(Error::usage("a cookie is missing: local COOKIE, remote COOKIE"));
    }
    w.get::<Sessions>()
        .set_cookies(w, named(w, m)?, local, remote)
        .map_err(|e| e.at(m.span("interface")))?;
    Ok(Output::empty())
}

fn set_lookup(w: &World, m: &Matches) -> Result<Output> {
    let word = m.str("lookup");
    if let Some((_, by)) = LookupBy::ALL.into_iter().find(|(known, _)| *known == word) {
        w.get::<Sessions>().set_lookup(w, by)?;
    }
    Ok(Output::empty())
}

fn enable(w: &World, m: &Matches) -> Result<Output> {
    w.get::<Sessions>().enable(w, named(w, m)?, !m.flag("del"))?;
    Ok(Output::empty())
}

fn clear(w: &World, _: &Matches) -> Result<Output> {
    w.get::<Sessions>().clear_counts(w);
    Ok(Output::empty())
}

fn test(w: &World, _: &Matches) -> Result<Output> {
    w.get::<Sessions>().test_counts(w);
    Ok(Output::empty())
}

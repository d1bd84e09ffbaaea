// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::model::{Cookie, L2tp, LookupBy};
use crate::sessions::Sessions;
use crate::show;
use cli::{Command, Error, Matches, Output, Result};
use graph::{SwIfIndex, World};
use net::Interfaces;
use object::{Argument, Arguments, Choice, Words};
use tunnel::Declared;

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: L2tp::CREATE,
        usage: cli::join!("(", L2tp::USAGE, tunnel::INSTANCE, "[del])"),
        help: "Make an interface whose frames go to another router behind a session identifier and a cookie (hexadecimal), over IPv6",
        run: tunnel::create::<L2tp>,
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

fn named(w: &World, m: &Matches) -> Result<SwIfIndex> {
    w.get::<Interfaces>().find(m.str("interface")).map_err(|e| e.at(m.span("interface")))
}

fn set_cookies(w: &World, m: &Matches) -> Result<Output> {
    let cookie = |name| Cookie::read(w, m, Words(name));
    let local = cookie(&[("local", "local")])?.map(|cookie| cookie.0);
    let remote = cookie(&[("remote", "remote")])?.map(|cookie| cookie.0);
    if local.is_none() && remote.is_none() {
        return Err(Error::usage("a cookie is missing: local COOKIE, remote COOKIE"));
    }
    w.get::<Sessions>()
        .set_cookies(w, named(w, m)?, local, remote)
        .map_err(|e| e.at(m.span("interface")))?;
    Ok(Output::empty())
}

fn set_lookup(w: &World, m: &Matches) -> Result<Output> {
    if let Some(by) = LookupBy::of_word(m.str("lookup")) {
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

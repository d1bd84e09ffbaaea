// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::model::{Cookie, L2tp, LookupBy};
use crate::sessions::Sessions;
use crate::show;
use cli::{Command, Error, Matches, Result};
use graph::{SwIfIndex, World};
use object::{Argument, Arguments, Choice, Words};
use tunnel::Declared;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create an L2TPv3 tunnel (RFC 3931): an interface whose frames go to another router over
    /// IPv6, behind a session identifier and a cookie (hexadecimal)
    L2tp::CREATE,
    cli::join!("(", L2tp::USAGE, tunnel::INSTANCE, "[del])") => tunnel::create::<L2tp>;
    /// Change the cookies of a session; packets with the local cookie before are accepted until the
    /// next change
    "set l2tpv3 tunnel cookie",
    "<interface:interface> ([local <local:word>] [remote <remote:word>])" => set_cookies;
    /// Choose the field of received packets that sessions are found by
    "set l2tpv3 lookup", "<lookup:v6-src|v6-dst|session-id>" => set_lookup;
    /// Take packets of L2TPv3 sessions out of the received packets before these are looked up
    "set interface ip6 l2tpv3", "<interface:interface> [del]" => enable;
    /// L2TPv3 sessions; verbose: with cookies and counts
    "show l2tpv3", "[verbose]" => show::sessions;
    /// Start the counts of `show l2tpv3 verbose' again at zero
    "clear l2tp counters" => clear;
    /// Add a packet of 64 bytes in each direction to the counts of `show l2tpv3 verbose'
    "test lt2p counters" => test;
};

fn named(w: &World, m: &Matches) -> Result<SwIfIndex> {
    net::args::interface(w, m, "interface")
}

fn set_cookies(w: &World, m: &Matches) -> Result<()> {
    let cookie = |name| Cookie::read(w, m, Words(name));
    let local = cookie(&[("local", "local")])?.map(|cookie| cookie.0);
    let remote = cookie(&[("remote", "remote")])?.map(|cookie| cookie.0);
    if local.is_none() && remote.is_none() {
        return Err(Error::usage("a cookie is missing: local COOKIE, remote COOKIE"));
    }
    w.get::<Sessions>().set_cookies(w, named(w, m)?, local, remote).map_err(m.at("interface"))
}

fn set_lookup(w: &World, m: &Matches) -> Result<()> {
    if let Some(by) = LookupBy::of_word(m.str("lookup")) {
        w.get::<Sessions>().set_lookup(w, by)?;
    }
    Ok(())
}

fn enable(w: &World, m: &Matches) -> Result<()> {
    w.get::<Sessions>().enable(w, named(w, m)?, !m.flag("del"))
}

fn clear(w: &World, _: &Matches) -> Result<()> {
    w.get::<Sessions>().clear_counts(w);
    Ok(())
}

fn test(w: &World, _: &Matches) -> Result<()> {
    w.get::<Sessions>().test_counts(w);
    Ok(())
}

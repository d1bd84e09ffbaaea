// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::model::{Cookie, L2tp, LocalCookies, LookupBy};
use crate::sessions::Sessions;
use crate::startup_conf::Startup;
use cli::{Command, Error, Matches, Output, Result, Writer, quote};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::Interfaces;
use net::args::{interface, write_switches};
use object::{Argument, Arguments, Choice, Members, Words};
use serde_json::json;
use std::fmt::{self, Write};
use tunnel::{Declared, Shown, TunnelEndpoints, Tunnels};

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
    "set interface ip6 l2tpv3", "<interface:interface> [del]"
        => |w, m| w.get::<Sessions>().enable(w, interface(w, m, "interface")?, !m.flag("del"));
    /// L2TPv3 sessions; verbose: with cookies and counts
    "show l2tpv3", "[verbose]" => sessions;
    /// Start the counts of `show l2tpv3 verbose' again at zero
    "clear l2tp counters" => |w, _| {
        w.get::<Sessions>().clear_counts(w);
        Ok(())
    };
    /// Add a packet of 64 bytes in each direction to the counts of `show l2tpv3 verbose'
    "test lt2p counters" => |w, _| {
        w.get::<Sessions>().test_counts(w);
        Ok(())
    };
};

fn set_cookies(w: &World, m: &Matches) -> Result<()> {
    let cookie = |name| Cookie::read(w, m, Words(name));
    let local = cookie(&[("local", "local")])?.map(|cookie| cookie.0);
    let remote = cookie(&[("remote", "remote")])?.map(|cookie| cookie.0);
    if local.is_none() && remote.is_none() {
        return Err(Error::usage("a cookie is missing: local COOKIE, remote COOKIE"));
    }
    w.get::<Sessions>()
        .set_cookies(w, interface(w, m, "interface")?, local, remote)
        .map_err(m.at("interface"))
}

fn set_lookup(w: &World, m: &Matches) -> Result<()> {
    if let Some(by) = LookupBy::of_word(m.str("lookup")) {
        w.get::<Sessions>().set_lookup(w, by)?;
    }
    Ok(())
}

pub fn sessions(w: &World, m: &Matches) -> Result<Output> {
    let all = w.get::<Tunnels<L2tp>>().interfaces();
    let verbose = m.flag("verbose");
    let rows = [None].into_iter().chain(all.into_iter().map(Some)).collect::<Vec<_>>();
    Ok(Output::list(rows, move |w: &World, row: Option<SwIfIndex>, out: &mut Writer| {
        match row {
            Some(sw_if) => line(w, sw_if, verbose, out),
            None => {
                let tunnels = w.get::<Tunnels<L2tp>>().interfaces().len();
                let word = w.get::<Sessions>().lookup().word();
                out.text(|text| writeln!(text, "{tunnels} L2TPv3 sessions, lookup {word}"));
            }
        }
        Ok(())
    }))
}

fn line(w: &World, sw_if: SwIfIndex, verbose: bool, out: &mut Writer) {
    tunnel::show_one::<L2tp>(w, sw_if, out);
    let Some(L2tp { local_cookies, remote_cookie, .. }) =
        w.get::<Tunnels<L2tp>>().get(sw_if).map(|tunnel| tunnel.spec).filter(|_| verbose)
    else {
        return;
    };
    let counts = w.get::<Sessions>().counts(w, sw_if);
    out.text(|text| {
        let local = local_cookies.texts().join(" or ");
        writeln!(text, "    cookies: local {local}, remote {remote_cookie}")?;
        let ((packets, bytes), (tx_packets, tx_bytes)) = (counts.rx, counts.tx);
        writeln!(text, "    user to network: {packets} packets, {bytes} bytes")?;
        writeln!(text, "    network to user: {tx_packets} packets, {tx_bytes} bytes")
    });
}

impl Declared for L2tp {
    const CREATE: &'static str = "create l2tpv3 tunnel";
    // The answer begins with the number of sessions.
    const NONE: &'static str = "";

    fn make(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        self.create(world, instance)
    }

    fn text(&self, shown: &Shown<'_>, text: &mut String) -> fmt::Result {
        let (w, sw_if, i) = (shown.world, shown.sw_if, shown.instance);
        let (name, TunnelEndpoints { local, remote, .. }) =
            (w.get::<Interfaces>().name(sw_if), self.ends);
        write!(text, "[{i}] {name} client {remote} our {local} ")?;
        write!(
            text,
            "local-session {} remote-session {} ",
            self.local_session, self.remote_session
        )?;
        write!(text, "fib-idx {} sw-if-idx {sw_if} ", self.ends.shown_table(w))?;
        write!(text, "l2-sublayer {}", u8::from(self.sublayer))
    }

    fn more(&self, shown: &Shown<'_>, to: &mut Members) {
        let (sessions, sw_if) = (shown.world.get::<Sessions>(), shown.sw_if);
        let counts = sessions.counts(shown.world, sw_if);
        to.insert("lookup".into(), sessions.lookup().word().into());
        to.insert(
            "counters".into(),
            json!({
                "user_to_network": { "packets": counts.rx.0, "bytes": counts.rx.1 },
                "network_to_user": { "packets": counts.tx.0, "bytes": counts.tx.1 },
            }),
        );
    }
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "L2TPv3 sessions",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 2001:db8:1::1/64
     ip6 table add 7
     set l2tpv3 lookup session-id
     create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 local-cookie 1122334455667788 remote-cookie 8877665544332211
     create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 local-session 7 remote-session 0xffffffff l2-sublayer-present instance 5
     create l2tpv3 tunnel client 2001:db8:2::2 our 2001:db8:2::1 local-session 1 fib-id 7 dscp 10
     create l2tpv3 tunnel client 2001:db8:1::3 our 2001:db8:1::1 local-session 9
     create l2tpv3 tunnel client 2001:db8:1::3 our 2001:db8:1::1 local-session 9 del
     set l2tpv3 tunnel cookie l2tpv3_tunnel0 local aa55 remote 55aa
     set interface state l2tpv3_tunnel0 up
     set interface l2 bridge l2tpv3_tunnel0 13
     set interface ip address l2tpv3_tunnel5 10.5.0.1/24
     set interface ip6 l2tpv3 pg0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    let sessions = world.get::<Sessions>();
    let (now, usual) = (sessions.lookup(), world.startup::<Startup>().lookup());
    if now != usual {
        // Sessions that only this lookup tells apart come later.
        config.value(Phase::SETTINGS, "set l2tpv3 lookup", now.word(), usual.word());
    }
    tunnel::write_config::<L2tp>(world, config);
    // Interfaces are made before they are renamed.
    config.interfaces(world.get::<Tunnels<L2tp>>().interfaces(), |world, sw_if, lines| {
        let spec = world.get::<Tunnels<L2tp>>().get(sw_if).map(|tunnel| tunnel.spec);
        let Some(LocalCookies { now, before }) = spec.map(|spec| spec.local_cookies) else {
            return;
        };
        if now != before {
            let made = world.get::<Interfaces>().get(sw_if).map(|made| made.original.name);
            let line = format!("set l2tpv3 tunnel cookie {}", quote(&made.unwrap_or_default()));
            lines.value(&format!("{line} local"), now, before);
        }
    });
    let line = "set interface ip6 l2tpv3";
    write_switches(config, Phase::FEATURES, sessions.enabled(), line, ["", "del"]);
}

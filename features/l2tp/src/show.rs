// SPDX-License-Identifier: Apache-2.0
//! `show l2tpv3`.

use crate::model::L2tp;
use crate::sessions::Sessions;
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use object::{Choice, Members};
use serde_json::json;
use std::fmt::{self, Write};
use tunnel::{Declared, Shown, TunnelEndpoints, Tunnels};

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

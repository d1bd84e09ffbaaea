// SPDX-License-Identifier: Apache-2.0
//! `show gtpu tunnel`, `show gtpu answer`.

use crate::answer::{Answers, Settings};
use crate::forward::{Forward, Forwards};
use crate::model::Gtpu;
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::{Column, Interfaces, L2Role};
use object::Members;
use serde_json::{Value, json};
use std::fmt::{self, Write};
use tunnel::{Declared, Next, Shown, Tunnels, unspecified};

pub fn tunnels(w: &World, _: &Matches) -> Result<Output> {
    let mut all = w.get::<Tunnels<Gtpu>>().interfaces();
    all.extend(w.get::<Forwards>().list().into_iter().map(|forward| forward.sw_if));
    all.sort_unstable();
    Ok(tunnel::list(all, Gtpu::NONE, line))
}

pub fn answer(w: &World, _: &Matches) -> Result<Output> {
    let Settings { echo, error } = w.get::<Answers>().get();
    let word = |on| if on { "enabled" } else { "disabled" };
    let text = format!("echo {}\nerror-indication {}\n", word(echo), word(error));
    Ok(Output::both(text, json!({ "echo": echo, "error_indication": error })))
}

/// The name of a next node, as `decap-next` has it.
pub fn next_name(next: Next) -> &'static str {
    match next {
        Next::Node("ip4-input") => "ip4",
        Next::Node("ip6-input") => "ip6",
        next => next.name(),
    }
}

fn line(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    match w.get::<Forwards>().get(sw_if) {
        Some(forward) => forward_line(w, forward, out),
        None => tunnel::show_one::<Gtpu>(w, sw_if, out),
    }
}

impl Declared for Gtpu {
    const CREATE: &'static str = "create gtpu tunnel";
    const NONE: &'static str = "No gtpu tunnels configured...";

    fn make(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        world.get::<Tunnels<Self>>().create_on_port(world, instance, self)
    }

    fn text(&self, shown: &Shown<'_>, text: &mut String) -> fmt::Result {
        let (Self { ends, teid, next, .. }, sw_if) = (self, shown.sw_if);
        write!(text, "[{}] src {} dst {} ", shown.instance, ends.local, ends.remote)?;
        write!(text, "teid {teid} tteid {} ", self.sent_teid())?;
        write!(text, "encap-vrf-id {} sw-if-idx {sw_if} ", ends.table)?;
        if let Some(route) = shown.route {
            write!(text, "encap-dpo-idx {} ", route.adj)?;
        }
        write!(text, "decap-next-{} ", next_name(*next))?;
        if let Some(qfi) = self.qfi {
            write!(text, "qfi {qfi} ")?;
        }
        ends.group_text(text)
    }

    fn more(&self, shown: &Shown<'_>, to: &mut Members) {
        let (w, sw_if) = (shown.world, shown.sw_if);
        let role = w.get::<Column<L2Role>>().get(sw_if);
        let frames = w.get::<Interfaces>().get(sw_if).is_ok_and(|i| role.carries_frames(&i));
        to.insert("tteid".into(), self.sent_teid().into());
        to.insert("decap_next".into(), next_name(self.next).into());
        to.insert("payload".into(), if frames { "ethernet" } else { "ip" }.into());
        to.insert("forwarding".into(), Value::Null);
    }
}

fn forward_line(w: &World, forward: Forward, out: &mut Writer) {
    let Forward { sw_if, instance, cause, to, table, next } = forward;
    let (from, cause, next) = (unspecified(to), cause.word(), next_name(next));
    out.value(|| {
        json!({
            "interface": w.get::<Interfaces>().name(sw_if),
            "sw_if_index": sw_if.0,
            "instance": instance,
            "source": from.to_string(),
            "destination": to.to_string(),
            "table": table,
            "decap_next": next,
            "forwarding": cause,
        })
    });
    out.text(|text| {
        write!(text, "[{instance}] src {from} dst {to} teid 0 tteid 0 encap-vrf-id {table} ")?;
        writeln!(text, "sw-if-idx {sw_if} decap-next-{next} forwarding {cause}")
    });
}

// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::answer::{Answers, Settings};
use crate::forward::{Cause, Forward, Forwards};
use crate::model::Gtpu;
use crate::spec::update_tteid;
use cli::{Command, Error, Matches, Output, Result, Writer};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::args::made;
use net::{Column, Interfaces, L2Role};
use object::{Arguments, Members};
use serde_json::{Value, json};
use std::fmt::{self, Write};
use tunnel::{Declared, Next, Shown, Tunnels, unspecified};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create a GTP-U tunnel (3GPP TS 29.281): an interface whose packets go to another router in
    /// UDP datagrams, or to a group of routers: IP packets, or in layer-2 mode frames; upd-tteid:
    /// change the TEID of packets that it sends
    Gtpu::CREATE,
    cli::join!("(", Gtpu::USAGE, tunnel::INSTANCE, "[del] [upd-tteid <newtteid:u32>])") => create;
    /// Forward GTP-U datagrams that no tunnel takes to another address, whole
    "create gtpu forward",
    "({dst <destination:ip>} [bad-header] [unknown-teid] [unknown-type] [decap-next <next:l2|ip4|ip6|drop|node> [<node:word>]] \
     [encap-vrf-id <table:u32>] [instance <instance:u32>] [del])" => forward;
    /// Answer echo requests, and tell senders of user data that no tunnel has its TEID
    "set gtpu answer",
    "([echo <echo:enable|disable>] [error-indication <error:enable|disable>])" => answer;
    /// Messages of GTP-U that are answered
    "show gtpu answer" => show_answer;
    /// GTP-U tunnels and forwards
    "show gtpu tunnel", "[raw]" => tunnels;
    { tunnel::bypass_ip4::<Gtpu>(
        "set interface ip gtpu-bypass",
        "Take datagrams of GTP-U tunnels out of the received IPv4 packets before these are looked up",
    ) };
    { tunnel::bypass_ip6::<Gtpu>(
        "set interface ip6 gtpu-bypass",
        "Take datagrams of GTP-U tunnels out of the received IPv6 packets before these are looked up",
    ) };
    /// Let a device find the tunnel of received datagrams: no device of this build can
    "set flow-offload gtpu",
    "{hw <device:interface>} {rx <tunnel:interface>} [del]" => tunnel::set_offload::<Gtpu>;
};

fn answer(w: &World, m: &Matches) -> Result<()> {
    let answers = w.get::<Answers>();
    let mut settings = answers.get();
    for (word, setting) in [("echo", &mut settings.echo), ("error", &mut settings.error)] {
        if m.has(word) {
            *setting = m.str(word) == "enable";
        }
    }
    answers.set(w, settings);
    Ok(())
}

fn create(w: &World, m: &Matches) -> Result<Output> {
    let Some(tteid) = m.opt("newtteid")? else { return tunnel::create::<Gtpu>(w, m) };
    let Gtpu { ends, teid, .. } = Gtpu::read(w, m)?;
    update_tteid(w, Some(ends.local), ends.remote, ends.table, teid, tteid)?;
    Ok(Output::empty())
}

fn forward(w: &World, m: &Matches) -> Result<Output> {
    let mut causes = Cause::ALL.into_iter().filter(|(word, _)| m.flag(word));
    let (Some((_, cause)), None) = (causes.next(), causes.next()) else {
        return Err(Error::usage("one of bad-header, unknown-teid and unknown-type is needed")
            .retval(cli::retval::INVALID_ARGUMENT));
    };
    let (forwards, to) = (w.get::<Forwards>(), m.req("destination")?);
    if m.flag("del") {
        forwards.delete(w, cause, to)?;
        return Ok(Output::empty());
    }
    let table = m.opt("table")?.unwrap_or(0);
    Ok(made(w, forwards.create(w, m.opt("instance")?, (cause, to), table, Next::parse(m)?)?))
}

pub fn tunnels(w: &World, _: &Matches) -> Result<Output> {
    let mut all = w.get::<Tunnels<Gtpu>>().interfaces();
    all.extend(w.get::<Forwards>().list().into_iter().map(|forward| forward.sw_if));
    all.sort_unstable();
    Ok(tunnel::list(all, Gtpu::NONE, line))
}

fn show_answer(w: &World, _: &Matches) -> Result<Output> {
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

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[
    Script::here(
        "GTP-U tunnels",
        "create packet-generator interface pg0
         set interface state pg0 up
         set interface ip address pg0 192.0.2.1/24
         ip table add 7
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.9 teid 13 decap-next ip4
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.9 teid 14 tteid 15 instance 5 encap-vrf-id 7 qfi 9 dscp 8
         create gtpu tunnel src 2001:db8::1 dst 2001:db8::2 teid 0 tteid 77 decap-next ip6
         create gtpu tunnel src 192.0.2.1 group 239.1.1.1 pg0 teid 13
         create gtpu tunnel src 192.0.2.1 group 239.1.1.1 pg0 teid 14 decap-next drop
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.10 teid 15 decap-next node ethernet-input
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.10 teid 15 upd-tteid 99
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.11 teid 16
         create gtpu tunnel src 192.0.2.1 dst 192.0.2.11 teid 16 del
         set interface ip address gtpu_tunnel0 10.0.0.1/24
         set interface ip gtpu-bypass pg0
         set interface ip6 gtpu-bypass pg0",
    ),
    Script::here(
        "answers to GTP-U messages",
        "set gtpu answer echo enable error-indication enable
         set gtpu answer error-indication disable",
    ),
    Script::here(
        "forwarded GTP-U datagrams",
        "ip table add 7
         create gtpu forward dst 192.0.2.7 unknown-teid
         create gtpu forward dst 192.0.2.8 unknown-type decap-next ip4 encap-vrf-id 7
         create gtpu forward dst 2001:db8::7 bad-header decap-next drop instance 9
         create gtpu forward dst 192.0.2.8 bad-header
         create gtpu forward dst 192.0.2.8 bad-header del",
    ),
];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    let Settings { echo, error } = world.get::<Answers>().get();
    for (what, on) in [("echo", echo), ("error-indication", error)] {
        if on {
            let line = format!("set gtpu answer {what}");
            config.value(Phase::SETTINGS, &line, "enable", "disable");
        }
    }
    tunnel::write_config::<Gtpu>(world, config);
    let forwards = world.get::<Forwards>().list();
    let all: Vec<_> = forwards.into_iter().map(|forward| forward.sw_if).collect();
    config.interfaces(all, |world, sw_if, lines| {
        let Some(forward) = world.get::<Forwards>().get(sw_if) else { return };
        let Forward { instance, cause, to, table, next, .. } = forward;
        let line = format!("create gtpu forward dst {to} {}", cause.word());
        let next = next.words();
        let table = if table == 0 { String::new() } else { format!(" encap-vrf-id {table}") };
        lines.push(format!("{line}{next}{table} instance {instance}"), format!("{line} del"));
    });
    tunnel::write_bypass::<Gtpu>(world, config);
}

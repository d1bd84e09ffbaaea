// SPDX-License-Identifier: Apache-2.0
//! The commands that change something.

use crate::answer::Answers;
use crate::forward::{Cause, Forwards};
use crate::model::Gtpu;
use crate::show;
use crate::spec::update_tteid;
use cli::{Command, Error, Matches, Output, Result};
use graph::World;
use net::Interfaces;
use object::Arguments;
use tunnel::{Declared, Next};

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
    "show gtpu answer" => show::answer;
    /// GTP-U tunnels and forwards
    "show gtpu tunnel", "[raw]" => show::tunnels;
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
    let sw_if = forwards.create(w, m.opt("instance")?, (cause, to), table, Next::parse(m)?)?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}

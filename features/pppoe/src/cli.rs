// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::clients::{Client, Clients};
use crate::sessions::{Config, Session, Sessions};
use cli::{Command, Matches, Output, Result, Writer, quote, retval};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::Interfaces;
use net::args::{given_interface, made, write_switches};
use serde_json::json;
use std::fmt::Write;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make the interface of a client's session; interface: where the client is, if it wasn't seen
    /// yet
    "create pppoe session",
    "({client-ip <client:ip>} {session-id <session:u16>} {client-mac <mac:mac>} [decap-vrf-id <table:u32>] \
     [interface <interface:interface>] [instance <instance:u32>] [del])" => create;
    /// Set the interface that discovery and PPP control packets go to
    "create pppoe cp", "{cp-if-index {<index:u32> | <interface:interface>}} [del]" => control_plane;
    /// PPPoE sessions
    "show pppoe session" => sessions;
    /// PPPoE clients that were seen, and their interfaces
    "show pppoe fib" => clients;
};

fn create(w: &World, m: &Matches) -> Result<Output> {
    let config = Config {
        session: m.req("session")?,
        mac: m.req("mac")?,
        address: m.req("client")?,
        table: m.opt("table")?.unwrap_or(0),
    };
    let sessions = w.get::<Sessions>();
    if m.flag("del") {
        sessions.delete(w, config.mac, config.session).map_err(m.at("session"))?;
        return Ok(Output::empty());
    }
    let at = given_interface(w, m, "interface")?;
    let new = sessions.create(w, config, at, m.opt("instance")?);
    let sw_if = new.map_err(|e| match () {
        () if e.is(retval::NO_SUCH_INNER_FIB) => e.at(m.span("table")),
        () if e.is(retval::INSTANCE_IN_USE) => e.at(m.span("instance")),
        () if e.is(retval::INVALID_SW_IF_INDEX) && at.is_none() => e.at(m.span("mac")),
        () => e,
    })?;
    Ok(made(w, sw_if))
}

fn control_plane(w: &World, m: &Matches) -> Result<()> {
    let sw_if = w.get::<Interfaces>().named_or_numbered(m)?;
    let clients = w.get::<Clients>();
    match m.flag("del") {
        true => clients.remove_control_plane(w, sw_if),
        false => clients.set_control_plane(w, sw_if),
    }
}

pub fn sessions(w: &World, _: &Matches) -> Result<Output> {
    let all = w.get::<Sessions>().list().into_iter().map(|session| session.sw_if).collect();
    Ok(tunnel::list(all, "No pppoe sessions configured...", line))
}

fn line(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    // It may be deleted between two slices of the answer.
    let Some(found) = w.get::<Sessions>().get(sw_if) else { return };
    let Session { instance, encap, config, .. } = found;
    let Config { session, mac, address, table } = config;
    let interfaces = w.get::<Interfaces>();
    let local = interfaces.get(encap).map(|at| at.mac).unwrap_or_default();
    out.value(|| {
        json!({
            "interface": interfaces.name(sw_if),
            "sw_if_index": sw_if.0,
            "instance": instance,
            "client_ip": address.to_string(),
            "session_id": session,
            "encap_interface": interfaces.name(encap),
            "decap_table": table,
            "local_mac": local.to_string(),
            "client_mac": mac.to_string(),
        })
    });
    out.text(|text| {
        write!(text, "[{instance}] sw-if-index {sw_if} client-ip {address} session-id {session} ")?;
        writeln!(text, "encap-if-index {encap} decap-vrf-id {table}")?;
        writeln!(text, "    local-mac {local} client-mac {mac}")
    });
}

pub fn clients(w: &World, _: &Matches) -> Result<Output> {
    Ok(cli::columns!(w.get::<Clients>().list(), |w: &World, Client { mac, sw_if }| {
        "Client" => mac.to_string(),
        "Interface" => w.get::<Interfaces>().name(SwIfIndex(sw_if)),
        "sw_if_index" right => sw_if,
    }))
}

/// The control plane's interface, which may be behind a bridge domain.
pub const CONTROL_PLANE: Phase =
    Phase { name: "PPPoE control plane", after: &["features"], before: &["chosen features"] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "PPPoE sessions",
    "create packet-generator interface pg0
     create packet-generator interface pg1
     create sub-interfaces pg0 100
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create pppoe cp cp-if-index pg1
     create pppoe session client-ip 10.0.0.5 session-id 1 client-mac 02:aa:00:00:00:01 interface pg0
     create pppoe session client-ip 2001:db8::5 session-id 1 client-mac 02:aa:00:00:00:02 interface pg0.100 instance 4
     create pppoe session client-ip 10.0.0.6 session-id 2 client-mac 02:aa:00:00:00:01 decap-vrf-id 7 interface pg0
     create pppoe session client-ip 10.0.0.7 session-id 3 client-mac 02:aa:00:00:00:01 interface pg0
     create pppoe session client-ip 10.0.0.7 session-id 3 client-mac 02:aa:00:00:00:01 del
     set interface unnumbered pppoe_session0 use pg0
     enable ip6 interface pppoe_session4",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    let sessions = world.get::<Sessions>().list().into_iter().map(|session| session.sw_if);
    config.interfaces(sessions.collect::<Vec<_>>(), |world, sw_if, lines| {
        let Some(session) = world.get::<Sessions>().get(sw_if) else { return };
        let Session { instance, encap, config: Config { session, mac, address, table }, .. } =
            session;
        // Interfaces are made before they are renamed.
        let Ok(at) = world.get::<Interfaces>().get(encap) else { return };
        let line = format!(
            "create pppoe session client-ip {address} session-id {session} client-mac {mac}"
        );
        let vrf = if table == 0 { String::new() } else { format!(" decap-vrf-id {table}") };
        let at = quote(&at.original.name);
        let text = format!("{line}{vrf} interface {at} instance {instance}");
        lines.push(text, format!("{line} del"));
    });
    let control_plane = world.get::<Clients>().control_plane();
    let line = "create pppoe cp cp-if-index";
    write_switches(config, CONTROL_PLANE, control_plane, line, ["", "del"]);
}

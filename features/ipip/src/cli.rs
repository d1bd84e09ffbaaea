// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::model::IpIp;
use crate::sixrd;
use cli::{Command, Error, Matches, Output, Result, Writer, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::fmt::Write;
use std::net::IpAddr;
use tunnel::{TunnelEndpoints, Tunnels};

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "create ipip tunnel",
        usage: concat!(
            "({src <source:ip>} [dst <destination:ip>] [instance <instance:u32>] [outer-table-id <table:u32>] [p2mp] ",
            tunnel::marks_usage!(),
            ")"
        ),
        help: "Make an interface whose packets go to another router in IP packets; p2mp: the other ends come by `create teib'",
        run: create,
    },
    Command {
        path: "delete ipip tunnel",
        usage: "{<interface:interface> | sw_if_index <index:u32>}",
        help: "Delete a tunnel and its interface",
        run: delete,
    },
    Command {
        path: "show ipip tunnel",
        usage: "[<interface:interface>]",
        help: "Tunnels of IP in IP",
        run: show,
    },
    Command {
        path: "show ipip tunnel-hash",
        usage: "",
        help: "Keys of received packets: addresses and table of each tunnel",
        run: show_hash,
    },
    sixrd::CREATE,
    sixrd::DELETE,
    sixrd::SHOW,
];

fn create(w: &World, m: &Matches) -> Result<Output> {
    let local: IpAddr = m.req("source")?;
    let multipoint = m.flag("p2mp");
    let remote = match m.opt("destination")? {
        Some(remote) => remote,
        None if multipoint => tunnel::unspecified(local),
        None => return Err(Error::usage("the other end is missing: dst ADDRESS, or p2mp")),
    };
    let ends = TunnelEndpoints { local, remote, table: m.opt("table")?.unwrap_or(0) };
    let made = IpIp { ends, marks: tunnel::parse(m)?, multipoint }.create(w, m.opt("instance")?);
    let sw_if = made.map_err(|e| match () {
        () if e.is(retval::NO_SUCH_FIB) => e.at(m.span("table")),
        () if e.is(retval::INSTANCE_IN_USE) => e.at(m.span("instance")),
        () => e,
    })?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}

fn delete(w: &World, m: &Matches) -> Result<Output> {
    let sw_if = w.get::<Interfaces>().named_or_numbered(m)?;
    w.get::<Tunnels<IpIp>>().delete(w, sw_if)?;
    Ok(Output::empty())
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let tunnels = w.get::<Tunnels<IpIp>>();
    let all = if m.has("interface") {
        vec![
            w.get::<Interfaces>()
                .find(m.str("interface"))
                .map_err(|e| e.at(m.span("interface")))?,
        ]
    } else {
        tunnels.interfaces()
    };
    Ok(tunnel::list(all, "No IPIP tunnels configured...", line))
}

fn line(w: &World, sw_if: SwIfIndex, out: &mut Writer) {
    let tunnels = w.get::<Tunnels<IpIp>>();
    // It may be deleted between two slices of the answer.
    let Some(tunnel) = tunnels.get(sw_if) else { return };
    let IpIp { ends, marks, multipoint } = tunnel.spec;
    let TunnelEndpoints { local, remote, table } = ends;
    let outlook = tunnels.outlook(w, sw_if);
    let flags = tunnel::flags(&marks);
    out.value(|| {
        json!({
            "interface": w.get::<Interfaces>().name(sw_if),
            "sw_if_index": sw_if.0,
            "instance": tunnel.instance,
            "source": local.to_string(),
            "destination": (!multipoint).then(|| remote.to_string()),
            "table": table,
            "flags": flags,
            "dscp": marks.dscp,
            "multipoint": multipoint,
            "resolved": outlook.is_resolved,
            "obstacle": outlook.obstacle,
        })
    });
    out.text(|text| {
        let i = tunnel.instance;
        write!(
            text,
            "[{i}] instance {i} src {local} dst {remote} table-ID {table} sw-if-idx {sw_if} "
        )?;
        write!(text, "flags [{}] dscp {}", flags.join(" "), marks.dscp)?;
        text.push_str(if multipoint { " multi-point" } else { "" });
        writeln!(text, "{}", outlook.suffix())
    });
}

fn show_hash(w: &World, _: &Matches) -> Result<Output> {
    Ok(Output::list(w.get::<Tunnels<IpIp>>().interfaces(), |w: &World, sw_if, out: &mut Writer| {
        let Some(tunnel) = w.get::<Tunnels<IpIp>>().get(sw_if) else { return Ok(()) };
        let TunnelEndpoints { local, remote, table } = tunnel.spec.ends;
        let name = w.get::<Interfaces>().name(sw_if);
        out.value(|| json!({ "interface": name, "source": remote.to_string(), "destination": local.to_string(), "table": table }));
        out.text(|text| writeln!(text, "{name}: src {remote} dst {local} table-ID {table}"));
        Ok(())
    }))
}

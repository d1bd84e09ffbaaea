// SPDX-License-Identifier: Apache-2.0
//! `show memif`.

use crate::control::Memifs;
use crate::device::{MemifDevice, Mode, State};
use crate::io::Role;
use crate::proto::RingInfo;
use cli::{Error, Matches, Output, Writer, retval};
use graph::World;
use net::{Interface, Interfaces};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// A part of the output.
enum Item {
    Sockets,
    Interfaces,
    Interface(Arc<MemifDevice>),
    End,
}

pub fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    let memifs = w.get::<Memifs>();
    let descriptors = m.flag("descriptors");
    let devices = match m.has("interface") {
        false => memifs.devices(),
        true => {
            let interfaces = w.get::<Interfaces>();
            let sw_if = net::args::interface(w, m, "interface")?;
            let device = memifs.device(sw_if).ok_or_else(|| {
                Error::not_found(format!("{} is no memif interface", interfaces.name(sw_if)))
                    .at(m.span("interface"))
                    .retval(retval::INVALID_SW_IF_INDEX)
            })?;
            vec![device]
        }
    };
    let interfaces = devices.into_iter().map(Item::Interface);
    let items = [Item::Sockets, Item::Interfaces].into_iter().chain(interfaces).chain([Item::End]);
    Ok(Output::record(items, move |w: &World, item, out: &mut Writer| {
        match item {
            Item::Sockets => sockets(&w.get::<Memifs>(), out),
            Item::Interfaces => out.array("interfaces"),
            Item::Interface(device) => interface(w, &device, descriptors, out),
            Item::End => out.end(),
        }
        Ok(())
    }))
}

fn sockets(memifs: &Memifs, out: &mut Writer) {
    let all: Vec<_> =
        memifs.sockets().into_iter().map(|(id, name)| (id, name, memifs.listener(id))).collect();
    out.text(|text| {
        text.push_str("sockets\n  id  listener    filename\n");
        for (id, name, listener) in &all {
            let listener =
                listener.map_or_else(|| "no".to_string(), |(_, refs)| format!("yes ({refs})"));
            // Writing to a String can't fail.
            let _ = writeln!(text, "  {id:<3} {listener:<11} {name}");
        }
        text.push('\n');
    });
    let socket = |(id, name, listener): &(u32, String, Option<(i32, usize)>)| {
        let refs = listener.map_or(0, |(_, refs)| refs);
        json!({ "index": id, "filename": name, "listens": listener.is_some(), "references": refs })
    };
    out.field("sockets", Value::Array(all.iter().map(socket).collect()));
}

fn interface(w: &World, device: &MemifDevice, descriptors: bool, out: &mut Writer) {
    // It may be gone.
    let Some(Ok(i)) = device.sw_if.get().map(|sw_if| w.get::<Interfaces>().get(*sw_if)) else {
        return;
    };
    let memifs = w.get::<Memifs>();
    let fds = (memifs.listener(device.config.socket).map(|(fd, _)| fd), memifs.conn_number(device));
    let state = device.state();
    out.text(|text| {
        // Writing to a String can't fail.
        let _ = lines(text, &i, device, &state, fds, descriptors);
    });
    out.value(|| value(&i, device, &state));
}

fn lines(
    text: &mut String,
    i: &Interface,
    device: &MemifDevice,
    state: &State,
    (listener, conn): (Option<i32>, Option<i32>),
    descriptors: bool,
) -> std::fmt::Result {
    let c = &device.config;
    writeln!(text, "interface {}", i.name)?;
    let peer = state.link.as_ref().map_or("", |link| &link.peer_interface);
    if state.link.is_some() {
        writeln!(text, "  remote-name \"{}\"\n  remote-interface \"{peer}\"", state.remote_name)?;
    }
    writeln!(text, "  socket-id {} id {} mode {}", c.socket, c.id, c.mode.name())?;
    text.push_str("  flags");
    let flags = [
        (i.admin_up, "admin-up"),
        (c.role == Role::Client, "slave"),
        (state.conn.is_some() && state.link.is_none(), "connecting"),
        (state.link.is_some(), "connected"),
    ];
    flags.iter().filter(|(on, _)| *on).try_for_each(|(_, name)| write!(text, " {name}"))?;
    writeln!(text, "\n  listener-fd {} conn-fd {}", listener.unwrap_or(0), conn.unwrap_or(0))?;
    let (s2m, m2s, regions) = state
        .link
        .as_ref()
        .map_or((0, 0, 0), |link| (link.s2m.len(), link.m2s.len(), link.regions.len()));
    let buffer = if c.role == Role::Client && state.link.is_some() { c.buffer_size } else { 0 };
    writeln!(
        text,
        "  num-s2m-rings {s2m} num-m2s-rings {m2s} buffer-size {buffer} num-regions {regions}"
    )?;
    for (side, reason) in [("local", &state.local_reason), ("remote", &state.remote_reason)] {
        if !reason.is_empty() {
            writeln!(text, "  {side}-disc-reason \"{reason}\"")?;
        }
    }
    if state.memory_lost > 0 {
        writeln!(text, "  memory-taken-away {}", state.memory_lost)?;
    }
    let Some(link) = &state.link else { return Ok(()) };
    for (index, region) in link.regions.iter().enumerate() {
        writeln!(text, "  region {index} size {} fd {}", region.len(), region.number())?;
    }
    for (name, rings) in [("master-to-slave", &link.m2s), ("slave-to-master", &link.s2m)] {
        for (index, ring) in rings.iter().enumerate() {
            writeln!(text, "  {name} ring {index}:")?;
            ring_lines(text, ring, descriptors)?;
        }
    }
    Ok(())
}

fn ring_lines(text: &mut String, info: &RingInfo, descriptors: bool) -> std::fmt::Result {
    let RingInfo { ring, region, offset, event, .. } = info;
    writeln!(
        text,
        "    region {region} offset {offset} ring-size {} int-fd {}",
        ring.size(),
        event.number()
    )?;
    writeln!(
        text,
        "    head {} tail {} flags 0x{:04x} interrupts {}",
        ring.head(),
        ring.tail(),
        ring.flags(),
        event.raised()
    )?;
    if descriptors {
        writeln!(text, "    descriptor table:\n     id    flags   length     offset  region")?;
        for index in 0..ring.size() {
            let d = ring.desc(index);
            writeln!(
                text,
                "    {index:>5}  0x{:04x} {:>8} {:>10} {:>7}",
                d.flags, d.len, d.offset, d.region
            )?;
        }
    }
    Ok(())
}

fn value(i: &Interface, device: &MemifDevice, state: &State) -> Value {
    let c = &device.config;
    let ring = |info: &RingInfo| {
        let ring = &info.ring;
        json!({
            "region": info.region, "offset": info.offset, "size": ring.size(), "head": ring.head(), "tail": ring.tail(),
            "flags": ring.flags(), "interrupts": info.event.raised(),
        })
    };
    let link = state.link.as_ref().map(|link| {
        json!({
            "remote_name": state.remote_name,
            "remote_interface": link.peer_interface,
            "regions": link.regions.iter().map(|r| r.len()).collect::<Vec<_>>(),
            "master_to_slave": link.m2s.iter().map(ring).collect::<Vec<_>>(),
            "slave_to_master": link.s2m.iter().map(ring).collect::<Vec<_>>(),
        })
    });
    json!({
        "name": i.name,
        "sw_if_index": i.sw_if.0,
        "socket": c.socket,
        "id": c.id,
        "mode": if c.mode == Mode::Ip { "ip" } else { "ethernet" },
        "role": if c.role == Role::Client { "slave" } else { "master" },
        "admin_up": i.admin_up,
        "connected": state.link.is_some(),
        "zero_copy": false,
        "local_disconnect_reason": state.local_reason,
        "remote_disconnect_reason": state.remote_reason,
        "memory_lost": state.memory_lost,
        "connection": link,
    })
}

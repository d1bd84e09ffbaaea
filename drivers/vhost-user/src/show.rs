// SPDX-License-Identifier: Apache-2.0
//! `show vhost-user`.

use crate::control::Vhosts;
use crate::device::{State, VhostDevice};
use crate::io::{Format, InflightInfo, Memory, RingView, VringInfo};
use crate::proto::{Features, Session};
use cli::{Error, Matches, Output, Writer};
use graph::World;
use net::{Interface, Interfaces};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// A part of the output.
enum Item {
    Start,
    Interface(Arc<VhostDevice>),
    End,
}

/// The parts that are asked for.
#[derive(Clone, Copy)]
struct Wanted {
    descriptors: bool,
    verbose: bool,
}

pub fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    let vhosts = w.get::<Vhosts>();
    let wanted = Wanted { descriptors: m.flag("descriptors"), verbose: m.flag("verbose") };
    let interfaces = w.get::<Interfaces>();
    let named = m.args("interface").map(|(name, span)| {
        let found = interfaces.find(name.text).and_then(|sw_if| vhosts.expect(w, sw_if));
        found.map_err(|e| e.at(Some(span)))
    });
    let named = named.collect::<Result<Vec<_>, _>>()?;
    let devices = if m.has("interface") { named } else { vhosts.devices() };
    let interfaces = devices.into_iter().map(Item::Interface);
    let items = [Item::Start].into_iter().chain(interfaces).chain([Item::End]);
    Ok(Output::record(items, move |w: &World, item, out: &mut Writer| {
        match item {
            Item::Start => out.array("interfaces"),
            Item::Interface(device) => interface(w, &device, wanted, out),
            Item::End => out.end(),
        }
        Ok(())
    }))
}

fn interface(w: &World, device: &VhostDevice, wanted: Wanted, out: &mut Writer) {
    // It may be gone.
    let Some(Ok(i)) = device.sw_if.get().map(|sw_if| w.get::<Interfaces>().get(*sw_if)) else {
        return;
    };
    let state = device.state();
    let rings = state.conn.as_ref().map_or_else(Vec::new, |conn| conn.session.vrings());
    let rings: Vec<_> = rings.iter().map(|ring| ring.info(wanted.descriptors)).collect();
    out.text(|text| {
        // Writing to a String can't fail.
        let _ = lines(text, &i, device, &state, &rings, wanted);
    });
    out.value(|| value(&i, device, &state, &rings));
}

fn features_of(state: &State) -> Features {
    state.conn.as_ref().map_or_else(Features::default, |conn| conn.session.features())
}

fn error_text(errno: i32) -> String {
    match errno {
        0 => "Success".to_string(),
        errno => std::io::Error::from(Errno::from_raw_os_error(errno)).to_string(),
    }
}

fn lines(
    text: &mut String,
    i: &Interface,
    device: &VhostDevice,
    state: &State,
    rings: &[VringInfo],
    wanted: Wanted,
) -> std::fmt::Result {
    let (c, features) = (device.config(), features_of(state));
    writeln!(text, "Interface: {} (ifindex {})", i.name, i.sw_if)?;
    writeln!(text, "virtio_net_hdr_sz {}", features.header())?;
    writeln!(text, " features mask ({:#x}):", c.offered().bits())?;
    writeln!(text, " features ({features}):")?;
    for (bit, name) in features.names() {
        writeln!(text, "   {name} ({bit})")?;
    }
    let protocol = state.conn.as_ref().map(|conn| conn.session.protocol()).unwrap_or_default();
    writeln!(text, "  protocol features ({:#x})", protocol.bits())?;
    for (bit, name) in protocol.names() {
        writeln!(text, "   {name} ({bit})")?;
    }
    let kind = if c.is_server { "server" } else { "client" };
    let error = error_text(state.errno);
    writeln!(text, "\n socket filename {} type {kind} errno \"{error}\"", c.socket)?;
    match &state.conn {
        Some(conn) => writeln!(text, " connected, fd {}", conn.channel.number())?,
        None => writeln!(text, " not connected")?,
    }
    if !state.reason.is_empty() {
        writeln!(text, " last disconnected: {}", state.reason)?;
    }
    if state.memory_lost > 0 {
        writeln!(text, " memory taken away: {} times", state.memory_lost)?;
    }
    if let Some(memory) = state.conn.as_ref().and_then(|conn| conn.session.memory()) {
        memory_lines(text, memory, wanted.verbose)?;
    }
    if let Some(log) = state.conn.as_ref().and_then(|conn| conn.session.inflight()) {
        let InflightInfo { size, queues, queue_size, .. } = log.info();
        writeln!(text, " inflight log: {queues} rings of {queue_size} in {size} bytes")?;
    }
    for (index, info) in rings.iter().enumerate() {
        if let Some(ring) = &info.ring {
            ring_lines(text, index, info, ring)?;
        }
    }
    text.push('\n');
    Ok(())
}

fn memory_lines(text: &mut String, memory: &Memory, verbose: bool) -> std::fmt::Result {
    writeln!(text, "\n Memory regions (total {})", memory.regions().len())?;
    let head = " region  guest_phys_addr     memory_size         userspace_addr      mmap_offset";
    writeln!(text, "{head}{}", if verbose { "         file" } else { "" })?;
    for (index, region) in memory.regions().iter().enumerate() {
        let info = region.info();
        write!(
            text,
            " {index:<6}  {:#018x}  {:#018x}  {:#018x}  {:#018x}",
            info.guest, info.size, info.user, info.offset
        )?;
        let file = if region.is_sealed() { "can't shrink" } else { "may shrink" };
        writeln!(text, "{}{}", if verbose { "  " } else { "" }, if verbose { file } else { "" })?;
    }
    if let Some(log) = memory.log() {
        writeln!(text, " written pages are logged in {} bytes", log.len())?;
    }
    Ok(())
}

fn ring_lines(
    text: &mut String,
    index: usize,
    info: &VringInfo,
    ring: &RingView,
) -> std::fmt::Result {
    // Named from this end: the guest receives by the even ones.
    let side = if index.is_multiple_of(2) { "TX" } else { "RX" };
    let enabled = if info.enabled { "" } else { " disabled" };
    writeln!(text, "\n Virtqueue {index} ({side}){enabled}")?;
    let RingView { format, size, position, driver, device } = ring;
    match format {
        Format::Split => {
            writeln!(
                text,
                "  qsz {size} last_avail_idx {} last_used_idx {}",
                position.next, position.done
            )?;
            writeln!(
                text,
                "  avail.flags {:#x} avail.idx {} used.flags {:#x} used.idx {}",
                driver.0, driver.1, device.0, device.1
            )?;
        }
        Format::Packed => {
            let part = |position: u16| (position & 0x7fff, position >> 15);
            let ((next, next_wrap), (done, done_wrap)) = (part(position.next), part(position.done));
            writeln!(
                text,
                "  qsz {size} packed, last_avail_idx {next} wrap {next_wrap} \
                 last_used_idx {done} wrap {done_wrap}"
            )?;
            writeln!(
                text,
                "  driver flags {:#x} off_wrap {} device flags {:#x} off_wrap {}",
                driver.0, driver.1, device.0, device.1
            )?;
        }
    }
    for (name, event) in ["kick", "call"].into_iter().zip(info.events) {
        match event {
            Some((fd, count)) => writeln!(text, "  {name}fd {fd} count {count}")?,
            None => writeln!(text, "  {name}fd -1")?,
        }
    }
    if !info.descriptors.is_empty() {
        writeln!(text, "  descriptor table:\n    id          addr         len    12-13   14-15")?;
        for (n, desc) in info.descriptors.iter().enumerate() {
            writeln!(
                text,
                "  {n:>5}  {:#018x}  {:>8}  0x{:04x}  0x{:04x}",
                desc.address, desc.len, desc.low, desc.high
            )?;
        }
    }
    Ok(())
}

fn value(i: &Interface, device: &VhostDevice, state: &State, rings: &[VringInfo]) -> Value {
    let c = device.config();
    let features = features_of(state);
    let names = |features: Features| features.names().map(|(_, name)| name).collect::<Vec<_>>();
    let ring = |(index, info): (usize, &VringInfo)| {
        let ring = info.ring.as_ref()?;
        let event = |event: Option<(i32, u64)>| event.map(|(_, count)| count);
        Some(json!({
            "index": index,
            "direction": if index.is_multiple_of(2) { "tx" } else { "rx" },
            "format": if ring.format == Format::Packed { "packed" } else { "split" },
            "enabled": info.enabled,
            "size": ring.size,
            "available": ring.position.next,
            "used": ring.position.done,
            "kicks": event(info.events[0]),
            "calls": event(info.events[1]),
        }))
    };
    let region = |region: &crate::io::Region| {
        let info = region.info();
        json!({ "guest": info.guest, "size": info.size, "user": info.user, "offset": info.offset,
                "sealed": region.is_sealed() })
    };
    let session = state.conn.as_ref().map(|conn| &conn.session);
    let memory = session.and_then(Session::memory);
    json!({
        "name": i.name,
        "sw_if_index": i.sw_if.0,
        "socket": c.socket,
        "role": if c.is_server { "server" } else { "client" },
        "admin_up": i.admin_up,
        "link_up": i.link_up,
        "connected": state.conn.is_some(),
        "errno": state.errno,
        "last_disconnect_reason": state.reason,
        "memory_lost": state.memory_lost,
        "header": features.header(),
        "offered": names(c.offered()),
        "features": names(features),
        "log": memory.and_then(|memory| memory.log()).map(|log| log.len()),
        "regions": memory.map(|memory| memory.regions().iter().map(region).collect::<Vec<_>>()),
        "rings": rings.iter().enumerate().filter_map(ring).collect::<Vec<_>>(),
    })
}

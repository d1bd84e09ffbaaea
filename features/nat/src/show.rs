// SPDX-License-Identifier: Apache-2.0
//! Output of `show` commands that kinds share.

use crate::statics::{StaticMapping, mapping_text, mapping_value};
use cli::{Output, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// Bytes of the keys of a session: two, in lines of eight cells that are filled to three.
const KEY_BYTES: u64 = 2 * 64 / 3;

/// Writes the text of an address of a pool, with the id of the table whose users get it, and the
/// name of the interface whose first address it is.
pub fn pool_address(
    out: &mut Writer,
    (addr, vrf, of): (Ipv4Addr, Option<u32>, Option<SwIfIndex>),
    world: &World,
    twice: Option<bool>,
) {
    let of = of.map(|sw_if| world.get::<Interfaces>().name(sw_if));
    out.text(|text| {
        let _ = writeln!(text, "{addr}");
        let _ = match vrf {
            Some(vrf) => writeln!(text, "  tenant VRF: {vrf}"),
            None => writeln!(text, "  tenant VRF independent"),
        };
        if let Some(of) = &of {
            let _ = writeln!(text, "  of interface {of}");
        }
    });
    out.value(|| {
        let mut value = json!({ "address": addr.to_string(), "vrf": vrf, "interface": of });
        if let Some(twice) = twice {
            value["twice_nat"] = twice.into();
        }
        value
    });
}

/// The static mappings of these numbers; `get` returns one, unless it was removed.
pub fn mappings(numbers: Vec<u32>, get: fn(&World, u32) -> Option<StaticMapping>) -> Output {
    Output::list(numbers, move |w: &World, number: u32, out: &mut Writer| {
        if let Some(mapping) = get(w, number) {
            out.text(|text| *text += &mapping_text(w, &mapping));
            out.value(|| mapping_value(w, &mapping));
        }
        Ok(())
    })
}

/// Names of the threads, by number.
fn threads(w: &World) -> Vec<String> {
    w.thread_list().into_iter().map(|thread| thread.name).collect()
}

/// The memory of the tables of sessions, by thread: `sessions` returns the number of sessions of
/// one, each of which takes so many bytes without its keys.
pub fn hash_tables(w: &World, sessions: fn(&World, usize) -> u64, bytes: u64) -> Output {
    let rows: Vec<_> = threads(w).into_iter().enumerate().collect();
    let table = Table::new().left("Thread").right("Sessions").right("Keys").right("Bytes");
    table.list(rows, move |w: &World, (at, name): (usize, String), out: &mut Writer| {
        let n = sessions(w, at);
        out.row([name.into(), n.into(), (2 * n).into(), (n * (bytes + KEY_BYTES)).into()]);
        Ok(())
    })
}

/// The greatest MSS of TCP connections.
pub fn mss(mss: Option<u16>) -> Output {
    let text = mss.map_or("mss-clamping disabled\n".into(), |mss| format!("mss-clamping {mss}\n"));
    Output::both(text, json!({ "mss": mss }))
}

/// The workers among these threads.
pub fn workers(w: &World, chosen: Vec<u16>) -> Output {
    let names = threads(w);
    let rows: Vec<_> = chosen
        .into_iter()
        .filter(|thread| *thread > 0)
        .map(|thread| (thread, names.get(usize::from(thread)).cloned().unwrap_or_default()))
        .collect();
    Output::list(rows, |_: &World, (thread, name): (u16, String), out: &mut Writer| {
        out.text(|text| *text += &format!("  {name}\n"));
        out.value(|| json!({ "thread": thread, "name": name }));
        Ok(())
    })
}

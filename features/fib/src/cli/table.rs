// SPDX-License-Identifier: Apache-2.0
//! `ip table`, and what is set for the routes of a table.

use super::load;
use cli::{Error, Matches, Output};
use graph::World;
use net::args::table as table_of;
use net::{Fib, FlowHash, Net, Source};

pub fn run<F: Net>(w: &World, m: &Matches) -> Result<Output, Error> {
    let fib = w.get::<Fib<F>>();
    if m.flag("add") {
        let id = if m.flag("allocate") { fib.free_table_id() } else { m.req("table")? };
        fib.add_table(w, id, m.str("name"), Source::Cli)?;
        return Ok(if m.flag("allocate") { format!("{id}\n").into() } else { Output::empty() });
    }
    if m.flag("flush") {
        return load::flush::<F>(w, table_of::<F>(w, m, "table")?);
    }
    let id = m.req("table")?;
    let index = fib.find_table(id).map_err(m.at("table"))?;
    if fib.delete_table(w, id, Source::Cli).map_err(m.at("table"))? {
        return Ok(Output::empty());
    }
    let user = fib.user(w, index).unwrap_or_else(|| "a client needs it".into());
    Ok(format!("table {id} stays for now: {user}\n").into())
}

pub fn flow_hash<F: Net>(w: &World, m: &Matches) -> Result<(), Error> {
    let chosen = FlowHash::NAMES.iter().filter(|(_, name)| m.flag(name));
    let bits = chosen.fold(0, |bits, (bit, _)| bits | bit.bits());
    w.get::<Fib<F>>().set_flow_hash(table_of::<F>(w, m, "table")?, FlowHash::from_api(bits)?)
}

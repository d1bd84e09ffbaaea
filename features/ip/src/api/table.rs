// SPDX-License-Identifier: Apache-2.0
//! Tables.

use super::{again, only_ip4};
use crate::control;
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Str, Wire, retval};
use net::{Fib, Source};
use wire::Ip4;

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: IpTableAddDel| add_del(w, r.is_add, &r.table));
    m.call(|w: &World, _: &Caller<'_, World>, r: IpTableAddDelV2| add_del(w, r.is_add, &r.table));
    m.call(allocate);
    m.dump(dump);
    m.call(flush);
    m.call(replace_begin);
    m.call(replace_end);
}

/// A table.
#[derive(Wire, Clone, Debug, Default, PartialEq, Eq)]
pub struct IpTable {
    /// Its number, as operators know it.
    pub table_id: u32,
    /// Of IPv6.
    pub is_ip6: bool,
    /// Its name.
    pub name: Str<64>,
}

/// Makes a table, or deletes it with its routes. The default table, number 0, is always there.
#[derive(Message)]
pub struct IpTableAddDel {
    /// Make, not delete.
    #[wire(default = "true")]
    pub is_add: bool,
    /// The table.
    pub table: IpTable,
}

/// Makes a table, or deletes it with its routes. The default table, number 0, is always there.
#[derive(Message)]
pub struct IpTableAddDelV2 {
    /// The table.
    pub table: IpTable,
    /// With one for multicast; there are none yet.
    #[wire(default = "true")]
    pub create_mfib: bool,
    /// Make, not delete.
    #[wire(default = "true")]
    pub is_add: bool,
}

fn add_del(w: &World, is_add: bool, table: &IpTable) -> Result<()> {
    only_ip4(table.is_ip6, "a table")?;
    match (table.table_id, is_add) {
        (0, _) => Ok(()),
        (id, true) => {
            again(control::add_table(w, id, table.name.as_str()).map(drop), retval::VALUE_EXIST, ())
        }
        (id, false) => again(w.get::<Fib<Ip4>>().delete_table(w, id), retval::NO_SUCH_FIB, ()),
    }
}

/// Makes a table of the number that is given, or of a free one if all bits are set.
#[derive(Message)]
#[msg(reply)]
pub struct IpTableAllocate {
    /// The table.
    pub table: IpTable,
}

/// The table.
#[derive(Message)]
pub struct IpTableAllocateReply {
    /// The table.
    pub table: IpTable,
}

fn allocate(w: &World, _: &Caller<'_, World>, r: IpTableAllocate) -> Result<IpTableAllocateReply> {
    let mut table = r.table;
    if table.table_id == u32::MAX {
        table.table_id = w.get::<Fib<Ip4>>().free_table_id();
    }
    add_del(w, true, &table)?;
    Ok(IpTableAllocateReply { table })
}

/// Asks for all tables.
#[derive(Message)]
#[msg(details)]
pub struct IpTableDump {}

/// A table.
#[derive(Message)]
pub struct IpTableDetails {
    /// The table.
    pub table: IpTable,
}

fn dump(w: &World, _: &Caller<'_, World>, _: IpTableDump) -> Result<Vec<IpTableDetails>> {
    let all = w.get::<Fib<Ip4>>().list_tables().into_iter();
    let table = |t: net::fib::TableInfo| IpTable { table_id: t.id, is_ip6: false, name: t.name.into() };
    Ok(all.map(|t| IpTableDetails { table: table(t) }).collect())
}

/// Removes all routes of a table that came by the binary API.
#[derive(Message)]
pub struct IpTableFlush {
    /// The table.
    pub table: IpTable,
}

fn flush(w: &World, _: &Caller<'_, World>, r: IpTableFlush) -> Result<()> {
    only_ip4(r.table.is_ip6, "a table")?;
    let fib = w.get::<Fib<Ip4>>();
    fib.flush(w, fib.find_table(r.table.table_id)?, Source::Api).map(drop)
}

/// Marks all routes of a table that came by the binary API: those that aren't added again until `ip_table_replace_end` go then.
#[derive(Message)]
pub struct IpTableReplaceBegin {
    /// The table.
    pub table: IpTable,
}

fn replace_begin(w: &World, _: &Caller<'_, World>, r: IpTableReplaceBegin) -> Result<()> {
    only_ip4(r.table.is_ip6, "a table")?;
    let fib = w.get::<Fib<Ip4>>();
    fib.replace_begin(fib.find_table(r.table.table_id)?, Source::Api)
}

/// Removes the routes of a table that are still marked.
#[derive(Message)]
pub struct IpTableReplaceEnd {
    /// The table.
    pub table: IpTable,
}

fn replace_end(w: &World, _: &Caller<'_, World>, r: IpTableReplaceEnd) -> Result<()> {
    only_ip4(r.table.is_ip6, "a table")?;
    let fib = w.get::<Fib<Ip4>>();
    fib.replace_end(w, fib.find_table(r.table.table_id)?, Source::Api).map(drop)
}

// SPDX-License-Identifier: Apache-2.0
//! Tables.

use super::again;
use cli::Result;
use graph::World;
use msg::{Messages, retval};
use net::{Fib, Net, Source};
use wire::{Ip4, Ip6};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(|w, r: IpTableAddDel| add_del(w, r.is_add, &r.table));
    m.call(|w, r: IpTableAddDelV2| add_del(w, r.is_add, &r.table));
    m.call(allocate);
    m.dump(dump);
    m.call(flush);
    m.call(replace_begin);
    m.call(replace_end);
}

msg::messages! {
    /// A route table: its number, name and IP version.
    IpTable,
    /// Makes a table, or deletes it with the routes that came by the binary API. It is there as
    /// long as an operator needs it, an interface is in it, or routes of other tables lead to it.
    /// The default table, number 0, is always there.
    IpTableAddDel,
    /// Makes a table, or deletes it with its routes. The default table, number 0, is always there.
    IpTableAddDelV2,
    /// Makes a table of the number that is given, or of a free one if all bits are set.
    IpTableAllocate,
    /// Asks for all tables.
    IpTableDump,
    /// One table: its number, name and IP version.
    IpTableDetails,
    /// Removes all routes of a table that came by the binary API.
    IpTableFlush,
    /// Marks all routes of a table that came by the binary API: `ip_table_replace_end` removes the
    /// ones not added again by then.
    IpTableReplaceBegin,
    /// Removes the routes of a table that are still marked.
    IpTableReplaceEnd,
}

fn add_del(w: &World, is_add: bool, table: &IpTable) -> Result<()> {
    net::by_version!(table.is_ip6, F => match (table.table_id, is_add) {
        (0, _) => Ok(()),
        (id, true) => {
            w.get::<Fib<F>>().add_table(w, id, table.name.as_str(), Source::Api).map(drop)
        }
        (id, false) => {
            let deleted = w.get::<Fib<F>>().delete_table(w, id, Source::Api).map(drop);
            again(deleted, retval::NO_SUCH_FIB, ())
        }
    })
}

fn allocate(w: &World, r: IpTableAllocate) -> Result<IpTable> {
    let mut table = r.table;
    if table.table_id == u32::MAX {
        table.table_id = net::by_version!(table.is_ip6, F => w.get::<Fib<F>>().free_table_id());
    }
    add_del(w, true, &table)?;
    Ok(table)
}

fn dump(w: &World, _: IpTableDump) -> Result<Vec<IpTableDetails>> {
    fn of<F: Net>(w: &World) -> impl Iterator<Item = IpTableDetails> {
        w.get::<Fib<F>>().list_tables().into_iter().map(|t| IpTableDetails {
            table: IpTable { table_id: t.id, is_ip6: F::IS_V6, name: t.name.into() },
        })
    }
    Ok(of::<Ip4>(w).chain(of::<Ip6>(w)).collect())
}

fn flush(w: &World, r: IpTableFlush) -> Result<()> {
    net::by_version!(r.table.is_ip6, F => {
        let fib = w.get::<Fib<F>>();
        fib.flush(w, fib.find_table(r.table.table_id)?, Source::Api).map(drop)
    })
}

fn replace_begin(w: &World, r: IpTableReplaceBegin) -> Result<()> {
    net::by_version!(r.table.is_ip6, F => {
        let fib = w.get::<Fib<F>>();
        fib.replace_begin(fib.find_table(r.table.table_id)?, Source::Api)
    })
}

fn replace_end(w: &World, r: IpTableReplaceEnd) -> Result<()> {
    net::by_version!(r.table.is_ip6, F => {
        let fib = w.get::<Fib<F>>();
        fib.replace_end(w, fib.find_table(r.table.table_id)?, Source::Api).map(drop)
    })
}

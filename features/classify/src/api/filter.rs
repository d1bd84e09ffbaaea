// SPDX-License-Identifier: Apache-2.0
//! Filters of traces and captures.

use super::given;
use crate::key::{MAX_VECTORS, VECTOR};
use crate::state::{Classifier, FilterOf};
use crate::words::Mask;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, retval};
use net::api::InterfaceIndex;

/// Vectors that a client's filter may leave out. A command's leaves out as many as its mask says.
const MAX_SKIP: u32 = 5;

pub fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: ClassifyTraceLookupTable| {
        let table_index = lookup(w, FilterOf::Trace, r.skip_n_vectors, r.match_n_vectors, r.mask)?;
        Ok(ClassifyTraceLookupTableReply { table_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: ClassifyTraceSetTable| {
        let table_index = set(w, FilterOf::Trace, r.table_index, r.sort_masks)?;
        Ok(ClassifyTraceSetTableReply { table_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, _: ClassifyTraceGetTables| {
        Ok(ClassifyTraceGetTablesReply { indices: w.get::<Classifier>().filter(FilterOf::Trace) })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: ClassifyPcapLookupTable| {
        let of = capture(w, r.sw_if_index)?;
        let table_index = lookup(w, of, r.skip_n_vectors, r.match_n_vectors, r.mask)?;
        Ok(ClassifyPcapLookupTableReply { table_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: ClassifyPcapSetTable| {
        let table_index = set(w, capture(w, r.sw_if_index)?, r.table_index, r.sort_masks)?;
        Ok(ClassifyPcapSetTableReply { table_index })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: ClassifyPcapGetTables| {
        let of = capture(w, r.sw_if_index)?;
        Ok(ClassifyPcapGetTablesReply { indices: w.get::<Classifier>().filter(of) })
    });
}

/// Captures of an interface; 0, or all bits set, are those of any.
fn capture(w: &World, index: InterfaceIndex) -> Result<FilterOf> {
    let one = index.given().filter(|sw_if| sw_if.0 != 0);
    one.map_or(Ok(()), |SwIfIndex(one)| InterfaceIndex(one).existing(w).map(drop))?;
    Ok(FilterOf::Capture(one))
}

fn lookup(w: &World, of: FilterOf, skip: u32, vectors: u32, mask: Vec<u8>) -> Result<u32> {
    if skip > MAX_SKIP || vectors == 0 || vectors as usize > MAX_VECTORS {
        let why = format!(
            "a filter leaves out at most {MAX_SKIP} vectors and compares 1 to {MAX_VECTORS}, not {skip} and {vectors}"
        );
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    if mask.len() != vectors as usize * VECTOR {
        let why = format!("{vectors} vectors, and a mask of {} bytes", mask.len());
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    w.get::<Classifier>().find_filter_table(of, &Mask { skip, bytes: mask })
}

fn set(w: &World, of: FilterOf, table: u32, sort: bool) -> Result<u32> {
    let first = w.get::<Classifier>().set_filter(w, of, given(table), sort)?;
    Ok(first.unwrap_or(u32::MAX))
}

/// Asks for the table of the filter of traces that has a mask.
#[derive(Message)]
#[msg(reply)]
pub struct ClassifyTraceLookupTable {
    /// Vectors of 16 bytes that it leaves out: 0 to 5.
    #[wire(default = "0")]
    pub skip_n_vectors: u32,
    /// Vectors that it compares: 1 to 5.
    #[wire(default = "1")]
    pub match_n_vectors: u32,
    /// The bits that it compares.
    #[count(mask_len: u32)]
    pub mask: Vec<u8>,
}

/// The table.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct ClassifyTraceLookupTableReply {
    /// Its index.
    pub table_index: u32,
}

/// Sets the first table of the filter of traces.
#[derive(Message)]
#[msg(reply)]
pub struct ClassifyTraceSetTable {
    /// The table; all bits set for no filter.
    #[wire(default = "4294967295")]
    pub table_index: u32,
    /// Ask tables with the most bits first.
    #[wire(default = "0")]
    pub sort_masks: bool,
}

/// The filter of traces.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct ClassifyTraceSetTableReply {
    /// Its first table, or all bits set.
    pub table_index: u32,
}

/// Asks for the tables of the filter of traces.
#[derive(Message)]
#[msg(reply)]
pub struct ClassifyTraceGetTables {}

/// The tables of the filter of traces.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct ClassifyTraceGetTablesReply {
    /// In the order in which they are asked.
    #[count(count: u32)]
    pub indices: Vec<u32>,
}

/// Asks for the table of the filter of captures that has a mask.
#[derive(Message)]
#[msg(reply)]
pub struct ClassifyPcapLookupTable {
    /// Captures of this interface; 0, or all bits set, for those of any.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
    /// Vectors of 16 bytes that it leaves out: 0 to 5.
    #[wire(default = "0")]
    pub skip_n_vectors: u32,
    /// Vectors that it compares: 1 to 5.
    #[wire(default = "1")]
    pub match_n_vectors: u32,
    /// The bits that it compares.
    #[count(mask_len: u32)]
    pub mask: Vec<u8>,
}

/// The table.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct ClassifyPcapLookupTableReply {
    /// Its index.
    pub table_index: u32,
}

/// Sets the first table of a filter of captures.
#[derive(Message)]
#[msg(reply)]
pub struct ClassifyPcapSetTable {
    /// Captures of this interface; 0, or all bits set, for those of any.
    pub sw_if_index: InterfaceIndex,
    /// The table; all bits set for no filter.
    #[wire(default = "4294967295")]
    pub table_index: u32,
    /// Ask tables with the most bits first.
    #[wire(default = "0")]
    pub sort_masks: bool,
}

/// The filter of captures.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct ClassifyPcapSetTableReply {
    /// Its first table, or all bits set.
    pub table_index: u32,
}

/// Asks for the tables of a filter of captures.
#[derive(Message)]
#[msg(reply)]
pub struct ClassifyPcapGetTables {
    /// Captures of this interface; 0, or all bits set, for those of any.
    pub sw_if_index: InterfaceIndex,
}

/// The tables of a filter of captures.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct ClassifyPcapGetTablesReply {
    /// In the order in which they are asked.
    #[count(count: u32)]
    pub indices: Vec<u32>,
}

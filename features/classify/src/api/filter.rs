// SPDX-License-Identifier: Apache-2.0
//! Filters of traces and captures.

use super::given;
use crate::key::{MAX_VECTORS, VECTOR};
use crate::state::{Classifier, FilterOf};
use crate::words::Mask;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Caller, Messages, retval};
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

msg::messages! {
    /// Asks for the table of the filter of traces that has a mask.
    ClassifyTraceLookupTable,
    /// The index of the table.
    #[derive(Debug, PartialEq, Eq)]
    ClassifyTraceLookupTableReply,
    /// Sets the first table of the filter of traces.
    ClassifyTraceSetTable,
    /// The filter of traces.
    #[derive(Debug, PartialEq, Eq)]
    ClassifyTraceSetTableReply,
    /// Asks for the tables of the filter of traces.
    ClassifyTraceGetTables,
    /// The tables of the filter of traces.
    #[derive(Debug, PartialEq, Eq)]
    ClassifyTraceGetTablesReply,
    /// Asks for the table of the filter of captures that has a mask.
    ClassifyPcapLookupTable,
    /// The index of the table.
    #[derive(Debug, PartialEq, Eq)]
    ClassifyPcapLookupTableReply,
    /// Sets the first table of a filter of captures.
    ClassifyPcapSetTable,
    /// The filter of captures.
    #[derive(Debug, PartialEq, Eq)]
    ClassifyPcapSetTableReply,
    /// Asks for the tables of a filter of captures.
    ClassifyPcapGetTables,
    /// The tables of a filter of captures.
    #[derive(Debug, PartialEq, Eq)]
    ClassifyPcapGetTablesReply,
}

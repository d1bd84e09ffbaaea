// SPDX-License-Identifier: Apache-2.0
//! Filters of traces and captures.

use crate::key::{MAX_VECTORS, VECTOR};
use crate::state::{Classifier, FilterOf};
use crate::words::Mask;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, retval};
use net::api::{InterfaceIndex, given};

/// Vectors that a client's filter may leave out. A command's leaves out as many as its mask says.
const MAX_SKIP: u32 = 5;

pub fn messages(m: &mut Messages<World>) {
    m.call(|w, r: ClassifyTraceLookupTable| {
        lookup(w, FilterOf::Trace, r.skip_n_vectors, r.match_n_vectors, r.mask)
    });
    m.call(|w, r: ClassifyTraceSetTable| set(w, FilterOf::Trace, r.table_index, r.sort_masks));
    m.call(|w, _: ClassifyTraceGetTables| Ok(w.get::<Classifier>().filter(FilterOf::Trace)));
    m.call(|w, r: ClassifyPcapLookupTable| {
        let of = capture(w, r.sw_if_index)?;
        lookup(w, of, r.skip_n_vectors, r.match_n_vectors, r.mask)
    });
    m.call(|w, r: ClassifyPcapSetTable| {
        set(w, capture(w, r.sw_if_index)?, r.table_index, r.sort_masks)
    });
    m.call(|w, r: ClassifyPcapGetTables| {
        let of = capture(w, r.sw_if_index)?;
        Ok(w.get::<Classifier>().filter(of))
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
    /// Sets the first table of the filter of traces.
    ClassifyTraceSetTable,
    /// Asks for the tables of the filter of traces.
    ClassifyTraceGetTables,
    /// The tables of the filter of traces.
    ClassifyTraceGetTablesReply,
    /// Asks for the table of the filter of captures that has a mask.
    ClassifyPcapLookupTable,
    /// Sets the first table of a filter of captures.
    ClassifyPcapSetTable,
    /// Asks for the tables of a filter of captures.
    ClassifyPcapGetTables,
    /// The tables of a filter of captures.
    ClassifyPcapGetTablesReply,
}

// SPDX-License-Identifier: Apache-2.0
//! Transmit queues.

use crate::control;
use cli::{Error, Result};
use graph::World;
use msg::{Messages, retval};
use net::api::InterfaceIndex;

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(|w, r: SwInterfaceSetTxPlacement| {
        let sw_if = r.sw_if_index.existing(w)?;
        if control::is_sub(w, sw_if) {
            return Err(Error::parse("a sub-interface has no queues").retval(retval::INVALID_VALUE));
        }
        control::set_tx_placement(w, sw_if, r.queue_id, Some(&r.threads))
    });
    m.stream(placements);
}

msg::messages! {
    /// Chooses the threads that send by a transmit queue.
    SwInterfaceSetTxPlacement,
    /// Asks which threads send by the transmit queues.
    SwInterfaceTxPlacementGet,
    /// A transmit queue.
    SwInterfaceTxPlacementDetails,
}

fn placements(
    w: &World,
    r: SwInterfaceTxPlacementGet,
) -> Result<Vec<SwInterfaceTxPlacementDetails>> {
    let only = r.sw_if_index.existing_or_all(w)?;
    if only.is_some_and(|sw_if| control::is_sub(w, sw_if)) {
        return Err(Error::parse("a sub-interface has no queues").retval(retval::INVALID_INTERFACE));
    }
    let details = |(interface, queue, threads): (net::Interface, u16, Vec<u16>)| {
        SwInterfaceTxPlacementDetails {
            sw_if_index: interface.sw_if.into(),
            queue_id: queue.into(),
            shared: (threads.len() > 1).into(),
            threads: threads.into_iter().map(u32::from).collect(),
        }
    };
    let all: Vec<_> = control::tx_placements(w, only).into_iter().map(details).collect();
    if all.is_empty() {
        return Err(Error::not_found("no transmit queue").retval(retval::NO_SUCH_ENTRY));
    }
    Ok(all)
}

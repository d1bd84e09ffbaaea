// SPDX-License-Identifier: Apache-2.0
//! Receive queues.

use crate::control::{self, Poller};
use cli::{Error, Result};
use graph::{InputMode, SwIfIndex, World};
use msg::{Messages, retval};
use net::Interfaces;
use net::api::InterfaceIndex;

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(|w, r: SwInterfaceSetRxMode| {
        let (queue, mode) = (r.queue_id_valid.then_some(r.queue_id), r.mode.input()?);
        control::set_rx_mode(w, device(w, r.sw_if_index)?, queue, mode).map_err(refused)
    });
    m.dump(placements);
    m.call(|w, r: SwInterfaceSetRxPlacement| {
        let poller = if r.is_main { Poller::Main } else { Poller::Worker(r.worker_id) };
        control::set_rx_placement(w, device(w, r.sw_if_index)?, Some(r.queue_id), poller)
            .map_err(refused)
    });
    m.call(|w, r: SwInterfaceSetDefaultRxMode| {
        r.mode.input().map(|mode| w.get::<Interfaces>().set_default_rx_mode(mode))
    });
    m.call(|w, _: SwInterfaceGetDefaultRxMode| {
        Ok(RxMode::from(w.get::<Interfaces>().default_rx_mode()))
    });
}

/// An interface with queues of its own (−2, −7 for a sub-interface).
fn device(w: &World, index: InterfaceIndex) -> Result<SwIfIndex> {
    let sw_if = index.existing(w)?;
    if control::is_sub(w, sw_if) {
        return Err(Error::parse("a sub-interface has no queues").retval(retval::INVALID_VALUE));
    }
    Ok(sw_if)
}

/// One value for a queue, a worker and a mode that aren't there, as clients expect it.
fn refused(error: Error) -> Error {
    error.retval(retval::UNIMPLEMENTED)
}

msg::messages! {
    /// The mode in which a thread detects received packets.
    RxMode,
    /// Chooses how the threads of receive queues learn of packets.
    SwInterfaceSetRxMode,
    /// Asks which threads poll the receive queues.
    SwInterfaceRxPlacementDump,
    /// A receive queue.
    SwInterfaceRxPlacementDetails,
    /// Chooses the thread that polls a receive queue.
    SwInterfaceSetRxPlacement,
    /// Chooses how receive queues made from now on are polled.
    SwInterfaceSetDefaultRxMode,
    /// Asks how new receive queues are polled.
    SwInterfaceGetDefaultRxMode,
    /// Mode of new receive queues.
    SwInterfaceGetDefaultRxModeReply,
}

impl RxMode {
    /// The mode; none for the default.
    fn input(self) -> Result<Option<InputMode>> {
        match self {
            Self::Unknown => Err(Error::parse("no mode is given").retval(retval::INVALID_VALUE)),
            Self::Polling => Ok(Some(InputMode::Polling)),
            Self::Interrupt => Ok(Some(InputMode::Interrupt)),
            Self::Adaptive => Ok(Some(InputMode::Adaptive)),
            Self::Default => Ok(None),
        }
    }
}

impl From<InputMode> for RxMode {
    fn from(mode: InputMode) -> Self {
        match mode {
            InputMode::Disabled => Self::Unknown,
            InputMode::Polling => Self::Polling,
            InputMode::Interrupt => Self::Interrupt,
            InputMode::Adaptive => Self::Adaptive,
        }
    }
}

fn placements(
    w: &World,
    r: SwInterfaceRxPlacementDump,
) -> Result<Vec<SwInterfaceRxPlacementDetails>> {
    let all = control::placements(w, r.sw_if_index.existing_or_all(w)?);
    let details = all.iter().map(|(interface, q)| SwInterfaceRxPlacementDetails {
        sw_if_index: interface.sw_if.into(),
        queue_id: q.queue.into(),
        worker_id: q.thread.0.into(),
        mode: q.mode.into(),
    });
    Ok(details.collect())
}

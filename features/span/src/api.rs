// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `span`.

use crate::control::{Directions, Span};
use crate::mirror::Level;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, retval};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> = Module::core("span", messages);

fn messages(m: &mut Messages<World>) {
    m.call(enable_disable);
    m.dump(dump);
}

msg::messages! {
    /// Which frames of the source are copied.
    flags SpanState,
    /// Copies frames of an interface to another one, or ends that.
    SwInterfaceSpanEnableDisable,
    /// Asks for the interfaces of which frames are copied.
    SwInterfaceSpanDump,
    /// An interface of which frames are copied, and one that copies leave by.
    SwInterfaceSpanDetails,
}

fn enable_disable(w: &World, r: SwInterfaceSpanEnableDisable) -> Result<()> {
    let SwInterfaceSpanEnableDisable { sw_if_index_from: from, sw_if_index_to: to, state, is_l2 } =
        r;
    if state.0 > SpanState::RX_TX.0 {
        let why = format!("there is no state {}", state.0);
        return Err(Error::parse(why).retval(retval::UNIMPLEMENTED));
    }
    let directions =
        Directions { rx: state.0 & SpanState::RX.0 != 0, tx: state.0 & SpanState::TX.0 != 0 };
    let (span, level) = (w.get::<Span>(), Level::of(is_l2));
    let is_off = directions == Directions::NONE;
    if from == InterfaceIndex::NONE || to == InterfaceIndex::NONE && !is_off || from == to {
        let why = "frames are copied from one interface to another one";
        return Err(Error::parse(why).retval(retval::INVALID_INTERFACE));
    }
    let from = from.existing(w)?;
    match to {
        InterfaceIndex::NONE => span.clear(w, level, from),
        InterfaceIndex(to) => span.set(w, level, (from, SwIfIndex(to)), directions),
    }
}

fn dump(
    w: &World,
    r: SwInterfaceSpanDump,
) -> Result<impl Iterator<Item = SwInterfaceSpanDetails> + use<>> {
    let level = Level::of(r.is_l2);
    Ok(w.get::<Span>().list().into_iter().filter_map(move |((from, to), mirror)| {
        let Directions { rx, tx } = mirror[level as usize];
        let state = SpanState(u32::from(rx) | u32::from(tx) << 1);
        let details = SwInterfaceSpanDetails {
            sw_if_index_from: from.into(),
            sw_if_index_to: to.into(),
            state,
            is_l2: r.is_l2,
        };
        (state != SpanState::DISABLED).then_some(details)
    }))
}

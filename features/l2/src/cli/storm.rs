// SPDX-License-Identifier: Apache-2.0
//! Commands of storm control.

use crate::bridge::Bridge;
use crate::storm::Class;
use cli::{Matches, Output, Result, Table, Writer};
use graph::World;
use net::Interfaces;
use net::args::interface;

pub const USAGE: &str = "<interface:interface> {broadcast | multicast | unknown-unicast | all} \
                         {packets-per-second <rate:1-4294967295> | off}";

/// `set interface l2 storm-control`.
pub fn set(w: &World, m: &Matches) -> Result<()> {
    let classes: Vec<_> =
        Class::ALL.into_iter().filter(|class| m.flag("all") || m.flag(class.word())).collect();
    let sw_if = interface(w, m, "interface")?;
    let set = w.get::<Bridge>().set_storm_control(w, sw_if, &classes, m.opt("rate")?);
    set.map_err(m.at("interface"))
}

/// `show l2 storm-control`.
pub fn show(w: &World, _: &Matches) -> Result<Output> {
    let table =
        Table::new().left("Interface").left("Class").right("Packets-per-second").right("Drops");
    Ok(table.list(w.get::<Interfaces>().indices(), |w: &World, sw_if, out: &mut Writer| {
        let bridge = w.get::<Bridge>();
        for (class, rate) in Class::ALL.into_iter().zip(bridge.storms.rates(sw_if)) {
            if let Some(rate) = rate {
                let drops = bridge.storms.drops(sw_if, class);
                let name = w.get::<Interfaces>().name(sw_if);
                out.row([name.into(), class.word().into(), rate.into(), drops.into()]);
            }
        }
        Ok(())
    }))
}

// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `stn`.

use crate::control::{Rule, Rules};
use graph::World;
use msg::{Messages, Module};
use net::api::{Address, InterfaceIndex};

/// The module.
pub static API: Module<World> = Module::plugin("stn", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: StnAddDelRule| {
        let (rules, address) = (w.get::<Rules>(), r.ip_address.into());
        match r.is_add {
            true => rules.add(w, address, r.sw_if_index.existing(w)?),
            false => rules.delete(w, address),
        }
    });
    m.dump(|w, _: StnRulesDump| {
        let details = |rule: Rule| StnRulesDetails {
            ip_address: rule.address.into(),
            sw_if_index: rule.sw_if.into(),
        };
        Ok(w.get::<Rules>().list().into_iter().map(details).collect::<Vec<_>>())
    });
}

msg::messages! {
    /// Lets punted packets to an address leave by an interface, or no longer.
    StnAddDelRule,
    /// Asks for all rules.
    StnRulesDump,
    /// A rule.
    StnRulesDetails,
}

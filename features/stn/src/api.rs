// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `stn`.

use crate::control::{Rule, Rules};
use cli::Result;
use graph::World;
use msg::{Caller, Messages, Module};
use net::api::{Address, InterfaceIndex};

/// The module.
pub static API: Module<World> = Module::plugin("stn", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: StnAddDelRule| -> Result<()> {
        let (rules, address) = (w.get::<Rules>(), r.ip_address.into());
        match r.is_add {
            true => rules.add(w, address, r.sw_if_index.existing(w)?),
            false => rules.delete(w, address),
        }
    });
    m.dump(|w: &World, _: &Caller<'_, World>, _: StnRulesDump| -> Result<Vec<StnRulesDetails>> {
        let details = |rule: Rule| StnRulesDetails {
            ip_address: rule.address.into(),
            sw_if_index: rule.sw_if.into(),
        };
        Ok(w.get::<Rules>().list().into_iter().map(details).collect())
    });
}

msg::messages! {
    /// Lets punted packets to an address leave by an interface, or no longer.
    StnAddDelRule,
    /// Asks for all rules.
    StnRulesDump,
    /// A rule.
    #[derive(Debug, PartialEq, Eq)]
    StnRulesDetails,
}

// SPDX-License-Identifier: Apache-2.0
//! Unnumbered interfaces: they use another interface's addresses, beside their own if they have
//! any.

use super::Addresses;
use crate::IfKind;
use crate::fib::Net;
use cli::Error;
use graph::{SwIfIndex, World};
use msg::retval;
use std::collections::{BTreeMap, BTreeSet};

/// The interfaces that use each interface's addresses: changes of an interface look at its own
/// borrowers only.
#[derive(Default)]
pub(super) struct Borrowers(BTreeMap<SwIfIndex, BTreeSet<SwIfIndex>>);

impl Borrowers {
    fn change(&mut self, borrower: SwIfIndex, from: Option<SwIfIndex>, to: Option<SwIfIndex>) {
        if let Some(from) = from
            && let Some(borrowers) = self.0.get_mut(&from)
        {
            borrowers.remove(&borrower);
            if borrowers.is_empty() {
                self.0.remove(&from);
            }
        }
        if let Some(to) = to {
            self.0.entry(to).or_default().insert(borrower);
        }
    }
}

impl<F: Net> Addresses<F> {
    /// Lets an interface borrow another's addresses, or ends that (`None`). The protocol is enabled
    /// on it; destinations behind it need routes.
    ///
    /// # Errors
    /// No such interface (−2, for the lender −10); an interface that lends its addresses, or is its
    /// own lender, or a lender that has borrowed its addresses (−7); a lender in another table
    /// (−74).
    pub fn set_unnumbered(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        lender: Option<SwIfIndex>,
    ) -> Result<(), Error> {
        let interface = self.interfaces.get(sw_if)?;
        if interface.kind == IfKind::Local {
            return Err(Error::unsupported(format!("{} has no addresses", interface.name)));
        }
        self.interfaces.check_addressing(sw_if)?;
        if let Some(lender) = lender {
            self.check_lender(sw_if, lender)?;
        }
        let before = std::mem::replace(&mut self.all().entry(sw_if).or_default().lender, lender);
        self.lent.lock().expect("no panic inside").change(sw_if, before, lender);
        self.publish(sw_if);
        self.changed(world, sw_if)
    }

    fn check_lender(&self, sw_if: SwIfIndex, lender: SwIfIndex) -> Result<(), Error> {
        self.interfaces.check(lender).map_err(|e| e.retval(retval::INVALID_SW_IF_INDEX_2))?;
        let refuse = |who: SwIfIndex, why: &str| {
            Err(Error::failed(format!("{} {why}", self.interfaces.name(who)))
                .retval(retval::INVALID_VALUE))
        };
        if lender == sw_if {
            return refuse(sw_if, "can't lend addresses to itself");
        }
        if !self.borrowers(sw_if).is_empty() {
            return refuse(sw_if, "lends its addresses to others");
        }
        if self.unnumbered(lender).is_some() {
            return refuse(lender, "is unnumbered itself");
        }
        if self.table_of(lender)? != self.table_of(sw_if)? {
            return refuse(lender, "is in another table")
                .map_err(|e| e.retval(retval::UNEXPECTED_INTF_STATE));
        }
        Ok(())
    }

    /// Returns the interface whose addresses an unnumbered interface uses.
    pub fn unnumbered(&self, sw_if: SwIfIndex) -> Option<SwIfIndex> {
        self.all().get(&sw_if)?.lender
    }

    /// Returns the unnumbered interfaces that borrow an interface's addresses.
    pub fn borrowers(&self, lender: SwIfIndex) -> Vec<SwIfIndex> {
        let lent = self.lent.lock().expect("no panic inside");
        lent.0.get(&lender).map_or_else(Vec::new, |borrowers| borrowers.iter().copied().collect())
    }
}

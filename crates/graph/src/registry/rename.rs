// SPDX-License-Identifier: Apache-2.0
//! New names of nodes.

use super::{Kind, Reason, Registry};
use crate::NodeIndex;
use cli::Error;
use msg::retval;
use std::ops::Range;
use std::sync::Arc;

/// The names of a node before and after a change, and its error indices.
pub(crate) struct Renamed {
    pub old: Arc<str>,
    pub new: Arc<str>,
    pub errors: Range<u32>,
}

impl Registry {
    /// Gives a node another name, under which its reasons count from now on. Reasons that it counts
    /// under another node's name keep that.
    ///
    /// # Errors
    /// A node that was not added at run time or at the start (−6); a name that another node has, or
    /// that an edge names (−116).
    pub fn rename(&mut self, index: NodeIndex, name: &str) -> Result<Renamed, Error> {
        if let Some(other) = self.find(name).filter(|other| *other != index) {
            let why = format!("{name} is the name of node {other}");
            return Err(Error::failed(why).retval(retval::ENTRY_ALREADY_EXISTS));
        }
        let entry = self.get_mut(index).filter(|entry| entry.kind != Kind::Named);
        let entry = entry.ok_or_else(|| {
            Error::not_found(format!("there is no node {index}")).retval(retval::NO_SUCH_ENTRY)
        })?;
        let new: Arc<str> = name.into();
        let old = std::mem::replace(&mut entry.name, new.clone());
        let errors = entry.errors.clone();
        self.names.remove(&old);
        self.names.insert(new.clone(), index);
        for error in errors.clone() {
            let reason = self.reasons.read(error, |reason| reason.cloned());
            if let Some(reason) = reason.filter(|reason| reason.node == old) {
                self.reasons.set(error, Reason { node: new.clone(), ..reason });
            }
        }
        Ok(Renamed { old, new, errors })
    }
}

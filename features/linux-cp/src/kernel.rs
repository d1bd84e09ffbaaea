// SPDX-License-Identifier: Apache-2.0
//! The host's kernel: a socket for each namespace.

use cli::{Error, Result, retval};
use graph::{Shared, World};
use netlink::{Namespace, Rtnl};
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

/// Sockets by namespace, made when they are first needed. All requests are answered at once; none
/// is made by a worker.
pub struct Kernel(Mutex<BTreeMap<Option<String>, Rtnl>>);

impl Shared for Kernel {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

impl Kernel {
    /// Lets `f` talk to the kernel in a namespace (`None`: that of the process).
    ///
    /// # Errors
    /// A namespace that can't be opened; the error of `f` (−11).
    pub fn with<T>(
        &self,
        namespace: Option<&str>,
        doing: &str,
        f: impl FnOnce(&mut Rtnl) -> io::Result<T>,
    ) -> Result<T> {
        let mut all = self.0.lock().expect("no panic inside");
        let key = namespace.map(str::to_string);
        let failed =
            |e: io::Error| Error::failed(format!("{doing}: {e}")).retval(retval::SYSCALL_ERROR_1);
        if !all.contains_key(&key) {
            let open = || match namespace {
                Some(name) => Rtnl::in_namespace(&Namespace::open(name)?),
                None => Rtnl::new(),
            };
            all.insert(key.clone(), open().map_err(failed)?);
        }
        let rtnl = all.get_mut(&key).ok_or_else(|| Error::failed("no socket"))?;
        f(rtnl).map_err(failed)
    }

    /// Closes the socket of a namespace that no pair is in any more.
    pub fn close(&self, namespace: Option<&str>) {
        self.0.lock().expect("no panic inside").remove(&namespace.map(str::to_string));
    }
}

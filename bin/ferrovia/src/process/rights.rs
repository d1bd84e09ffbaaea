// SPDX-License-Identifier: Apache-2.0
//! Rights that the daemon gives up at its start, whoever starts it: the systemd unit has the same
//! limits.

use rustix::fs::Mode;
use rustix::io;
use rustix::process::umask;
use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Capabilities in use: devices and their namespaces, memory for devices, cores, ports below 1024,
/// and files of other users.
const NEEDED: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER);

/// Gives up all other capabilities, for programs that it may start too, and the right of other
/// users to read files that it makes, such as logs and captures. Threads that exist keep theirs.
///
/// # Errors
/// The system's.
pub fn reduce() -> io::Result<()> {
    let before = umask(Mode::empty());
    umask(before | Mode::WGRP | Mode::RWXO);
    let mut sets = capabilities(None)?;
    for one in CapabilitySet::all().difference(NEEDED).iter() {
        // A process without CAP_SETPCAP keeps its bounding set; a kernel may not know them all.
        if capability_is_in_bounding_set(one).unwrap_or(false) {
            let _ = remove_capability_from_bounding_set(one);
        }
    }
    for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
        *set &= NEEDED;
    }
    set_capabilities(None, sets)
}

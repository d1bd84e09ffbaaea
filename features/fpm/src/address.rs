// SPDX-License-Identifier: Apache-2.0
//! Addresses of the listener, as text.

use std::net::SocketAddr;
use std::path::PathBuf;

/// FRR's port.
pub const PORT: u16 = 2620;

/// The path of a socket.
///
/// # Errors
/// One that depends on the folder that the daemon runs in.
pub fn socket(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.is_absolute() {
        true => Ok(path),
        false => Err(format!("expected a path that begins with `/', not `{text}'")),
    }
}

/// An address and a port; FRR's port if there is none.
///
/// # Errors
/// Text that is neither.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = || text.parse().ok().map(|ip| SocketAddr::new(ip, PORT));
    let found = text.parse().ok().or_else(alone);
    found.ok_or_else(|| {
        format!("expected an address and a port such as 127.0.0.1:2620, not `{text}'")
    })
}

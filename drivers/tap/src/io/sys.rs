// SPDX-License-Identifier: Apache-2.0
//! The ioctls of tun devices (Documentation/networking/tuntap.rst).

use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

/// `struct ifreq` as TUNSETIFF reads it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<Request>() == size_of::<libc::ifreq>());

/// Opens a queue of the device `name` with `IFF_*` flags, and creates the device if it isn't there.
pub fn open(name: &str, flags: i32) -> io::Result<OwnedFd> {
    let mut request = Request { name: [0; libc::IFNAMSIZ], flags: flags as u16, rest: [0; 22] };
    match request.name.get_mut(..name.len()) {
        Some(bytes) if !name.is_empty() && name.len() < libc::IFNAMSIZ => {
            bytes.copy_from_slice(name.as_bytes())
        }
        _ => {
            let text = format!("`{name}' is no interface name: 1 to 15 characters");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    }
    let fd = OwnedFd::from(
        File::options()
            .read(true)
            .write(true)
            .open("/dev/net/tun")
            .map_err(|error| io::Error::new(error.kind(), format!("/dev/net/tun: {error}")))?,
    );
    rustix::io::ioctl_fionbio(&fd, true)?;
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which `Request` has the size of.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    Ok(fd)
}

/// Tells the kernel what it may leave undone in frames that it sends: `TUN_F_*`.
pub fn set_offload(fd: impl AsFd, flags: u32) -> io::Result<()> {
    // SAFETY: the argument is a number.
    check(unsafe {
        libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags))
    })
}

/// Lets the device outlive its descriptors, or not.
pub fn set_persistent(fd: impl AsFd, persistent: bool) -> io::Result<()> {
    // SAFETY: the argument is a number.
    check(unsafe {
        libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETPERSIST, libc::c_ulong::from(persistent))
    })
}

/// Gives the host's interface a carrier, or takes it away.
pub fn set_carrier(fd: impl AsFd, carrier: bool) -> io::Result<()> {
    let carrier = libc::c_int::from(carrier);
    // SAFETY: TUNSETCARRIER reads one int.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETCARRIER, &raw const carrier) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

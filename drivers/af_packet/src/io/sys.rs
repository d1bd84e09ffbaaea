// SPDX-License-Identifier: Apache-2.0
//! The system calls of packet(7) that no library wraps safely.

use std::{
    io,
    mem::size_of,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
};

use libc::{c_int, c_void, socklen_t};
use wire::MacAddr;

/// Payload types that socket options are made of.
///
/// # Safety
/// Every bit pattern is a valid value, and there is no padding.
pub unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for c_int {}
// SAFETY: integers of one size.
unsafe impl Plain for libc::tpacket_req {}
// SAFETY: integers of one size.
unsafe impl Plain for libc::tpacket_req3 {}
// SAFETY: integers of one size.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: integers whose sizes leave no gap: 4, 2, 2, 8 × 1.
unsafe impl Plain for libc::packet_mreq {}

/// A packet socket that receives nothing until it is bound.
pub fn socket() -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    let fd = unsafe {
        libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0)
    };
    check(fd)?;
    // SAFETY: a new descriptor that nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets an option of level SOL_PACKET.
pub fn set<T: Plain>(fd: impl AsFd, option: c_int, value: T) -> io::Result<()> {
    set_at(fd, libc::SOL_PACKET, option, &value)
}

fn set_at<T>(fd: impl AsFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let (value, len) = (&raw const *value, size_of::<T>() as socklen_t);
    // SAFETY: the kernel only reads, and no more than the value.
    check(unsafe {
        libc::setsockopt(fd.as_fd().as_raw_fd(), level, option, value.cast::<c_void>(), len)
    })
}

/// Reads an option of level SOL_PACKET into `value`; a shorter answer leaves the rest of it.
pub fn get<T: Plain>(fd: impl AsFd, option: c_int, mut value: T) -> io::Result<T> {
    let mut len = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `value`, and whatever it writes is valid for
    // a `Plain` type.
    check(unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            libc::SOL_PACKET,
            option,
            (&raw mut value).cast::<c_void>(),
            &raw mut len,
        )
    })?;
    Ok(value)
}

/// Binds to the interface `index`. `protocol` is an EtherType in host order; 0 receives nothing.
pub fn bind(fd: impl AsFd, index: u32, protocol: u16) -> io::Result<()> {
    let address = address(index, protocol);
    let len = size_of::<libc::sockaddr_ll>() as socklen_t;
    // SAFETY: the address lives for the call and has the length that is given.
    check(unsafe { libc::bind(fd.as_fd().as_raw_fd(), (&raw const address).cast(), len) })
}

/// The address of an interface; `protocol` in host order.
pub fn address(index: u32, protocol: u16) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: index as c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

/// Lets the socket receive nothing, whatever it is bound to.
pub fn deafen(fd: impl AsFd) -> io::Result<()> {
    // one instruction: return 0 bytes
    let mut reject = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut reject };
    set_at(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// The inverse of [`deafen`].
pub fn undeafen(fd: impl AsFd) -> io::Result<()> {
    let unused: c_int = 0;
    set_at(fd, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &unused)
}

/// Destinations that the interface accepts beyond its own address (packet(7),
/// PACKET_ADD_MEMBERSHIP).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Membership {
    /// Everything.
    Promiscuous,
    /// Every group.
    AllMulticast,
    /// This group.
    Multicast(MacAddr),
    /// Another address of its own.
    Unicast(MacAddr),
}

/// Adds or drops one reference to a membership of interface `index`; the kernel drops them with the
/// socket.
pub fn membership(fd: impl AsFd, index: u32, membership: Membership, add: bool) -> io::Result<()> {
    let (kind, mac) = match membership {
        Membership::Promiscuous => (libc::PACKET_MR_PROMISC, MacAddr::ZERO),
        Membership::AllMulticast => (libc::PACKET_MR_ALLMULTI, MacAddr::ZERO),
        Membership::Multicast(mac) => (libc::PACKET_MR_MULTICAST, mac),
        Membership::Unicast(mac) => (libc::PACKET_MR_UNICAST, mac),
    };
    let mut request = libc::packet_mreq {
        mr_ifindex: index as c_int,
        mr_type: kind as u16,
        mr_alen: 6,
        mr_address: [0; 8],
    };
    request.mr_address[..6].copy_from_slice(&mac.octets());
    let option = if add { libc::PACKET_ADD_MEMBERSHIP } else { libc::PACKET_DROP_MEMBERSHIP };
    set(fd, option, request)
}

/// The error that a return value below 0 announces.
pub fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

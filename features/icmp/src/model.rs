// SPDX-License-Identifier: Apache-2.0
//! An error that may be sent, and reasons for not sending it.

/// Type, code and rest of header of an ICMP error.
#[derive(Clone, Copy, Debug)]
pub struct ErrorHeader {
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// The last word of the ICMP header.
    pub rest: u32,
}

/// The reason why no error is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The packet is an ICMP error itself, or may be one.
    IcmpError,
    /// A fragment other than the first.
    Fragment,
    /// Its destination is more than one host.
    Broadcast,
    /// Its frame went to more than one host.
    LinkBroadcast,
    /// Its source is not the address of a single host.
    Source,
}

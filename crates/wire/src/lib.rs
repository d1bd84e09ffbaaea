// SPDX-License-Identifier: Apache-2.0
//! Packet formats as pure functions over bytes: no I/O, no allocation on the packet path, no
//! `unsafe`.
//!
//! Header structs are views: alignment 1, wire byte order, exactly as long as the fixed part of the
//! header. [`Header::view`] turns the front of a byte slice into a reference with one length check,
//! after which every field is a plain load:
//!
//! ```
//! use wire::{Header, IpHeader, Ipv4Header};
//! let bytes = [0x45u8; 20];
//! let ip = Ipv4Header::view(&bytes).expect("20 bytes are enough");
//! assert_eq!(ip.header_len(), 20);
//! ```
//!
//! Integer fields are big-endian [`U16`], [`U32`], [`U64`]: `field.get()` and `field.set(x)` speak
//! host order.
#![forbid(unsafe_code)]

mod arp;
pub mod checksum;
pub mod describe;
pub mod dns;
mod ethernet;
mod family;
mod geneve;
mod gre;
pub mod gso;
mod gtpu;
mod host;
pub mod icmp;
pub mod igmp;
mod ip;
mod ip4;
mod ip6;
mod ip6_options;
pub mod l4;
mod mac;
pub mod mld;
mod mpls;
pub mod nd;
pub mod offload;
mod options;
mod prefix;
mod tcp;
mod udp;
mod upper;
mod view;
mod vxlan;

pub use arp::{Arp, ArpOp};
pub use ethernet::{EtherType, Ethernet, Llc, Snap, VlanTag};
pub use family::{Address, Family, Ip4, Ip6, IpHeader};
pub use geneve::Geneve;
pub use gre::Gre;
pub use gtpu::{Gtpu, GtpuError, GtpuHeaders};
pub use host::{not_one_host, not_one_station};
pub use icmp::{Icmp4Type, Icmp6Type, IcmpHeader};
pub use ip::{Ecn, IpProtocol};
pub use ip4::{Ip4OptionKind, Ipv4Header};
pub use ip6::{ExtError, ExtHeader, ExtHeaders, Ip6Fragment, Ipv6Header, MAX_EXT_HEADERS};
pub use ip6_options::Ip6Options;
pub use mac::{MacAddr, ParseMacError};
pub use mpls::MplsLabel;
pub use options::{OptionError, Options, TlvOption};
pub use prefix::{Ip4Prefix, Ip6Prefix, ParsePrefixError, Prefix};
pub use tcp::{TcpFlags, TcpHeader, TcpOptionKind};
pub use udp::UdpHeader;
pub use upper::{UpperError, UpperLayer};
pub use view::{Header, U16, U32, U64};
pub use vxlan::{Vxlan, VxlanGpe};

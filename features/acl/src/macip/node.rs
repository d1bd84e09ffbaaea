// SPDX-License-Identifier: Apache-2.0
//! The nodes of MACIP ACLs.

use super::Compiled;
use super::control::MacipAcls;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Arp, EtherType, Ethernet, Family, Header, IpHeader, Ipv4Header, Ipv6Header, MacAddr};

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Next,
    /// MACIP ACL deny packets
    #[drop]
    #[counter("MACIP ACL deny packets")]
    Deny,
    /// MACIP ACL permit packets
    #[count]
    #[counter("MACIP ACL permit packets")]
    Permit,
}

/// The addresses that were held against the rules.
#[derive(Clone, Copy)]
pub struct MacipTrace {
    host: Option<(MacAddr, IpAddr)>,
    permitted: bool,
}

impl Trace for MacipTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.permitted { "permit" } else { "deny" };
        match self.host {
            Some((mac, ip)) => write!(f, "{word} {mac} {ip}"),
            None => write!(f, "{word}: neither IP nor ARP"),
        }
    }
}

/// The pair of addresses of a frame: of its source, or with `tx` of its destination. `None` if it
/// carries neither IP nor ARP.
fn host(frame: &[u8], tx: bool) -> Option<(MacAddr, IpAddr)> {
    let ether = Ethernet::view(frame)?;
    let mac = if tx { ether.dst } else { ether.src };
    let (at, kind) = Ethernet::l3_at(frame)?;
    let packet = frame.get(at..)?;
    let ip: IpAddr = match kind {
        EtherType::IP4 => {
            let ip = Ipv4Header::view(packet)?;
            if tx { ip.dst() } else { ip.src() }.into()
        }
        EtherType::IP6 => {
            let ip = Ipv6Header::view(packet)?;
            if tx { ip.dst() } else { ip.src() }.into()
        }
        EtherType::ARP => {
            let arp = Arp::view(packet)?;
            let (mac, ip) =
                if tx { (mac, arp.target_ip()) } else { (arp.sender_mac, arp.sender_ip()) };
            return Some((mac, ip.into()));
        }
        _ => return None,
    };
    Some((mac, ip))
}

fn permits(rules: &Compiled, host: Option<(MacAddr, IpAddr)>) -> bool {
    match host {
        Some((mac, IpAddr::V4(ip))) => rules.permits4(mac, ip),
        Some((mac, IpAddr::V6(ip))) => rules.permits6(mac, ip),
        None => false,
    }
}

/// The verdict for a frame of an interface.
fn judge<const TRACED: bool>(
    acls: &MacipAcls,
    (sw_if, frame, tx): (u32, &[u8], bool),
    b: &Buffer,
    cx: &mut Cx<'_, TRACED>,
) -> To {
    let Some(rules) = acls.of(sw_if, cx.turn) else { return To::Next };
    let host = host(frame, tx);
    let permitted = permits(rules, host);
    if TRACED {
        cx.trace(b, MacipTrace { host, permitted });
    }
    if !permitted {
        return To::Deny;
    }
    cx.count(To::Permit, 1);
    To::Next
}

/// `acl-plugin-macip-in-{ip}-fa`, `acl-plugin-macip-out-{ip}-fa`: routed packets.
pub struct Routed<F, const TX: bool>(Arc<MacipAcls>, PhantomData<fn() -> F>);

impl<F: Family, const TX: bool> Build for Routed<F, TX> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get(), PhantomData)
    }
}

impl<F: Family, const TX: bool> Node for Routed<F, TX> {
    const NAME: &'static str =
        if TX { "acl-plugin-macip-out-{ip}-fa" } else { "acl-plugin-macip-in-{ip}-fa" };
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = MacipTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TX {
            return judge(&self.0, (b.tx_if, b.data(), true), b, cx);
        }
        let header = b.l2_len();
        // A packet without a layer-2 header has no MAC address that a rule could name.
        if !b.rewind(header) {
            return To::Deny;
        }
        let to = judge(&self.0, (b.rx_if, b.data(), false), b, cx);
        let back = b.pull(header);
        debug_assert!(back, "the header was put back");
        to
    }
}

/// `acl-plugin-macip-in-l2`, `acl-plugin-macip-out-l2`: switched frames.
pub struct Switched<const TX: bool>(Arc<MacipAcls>);

impl<const TX: bool> Build for Switched<TX> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl<const TX: bool> Node for Switched<TX> {
    const NAME: &'static str =
        if TX { "acl-plugin-macip-out-l2" } else { "acl-plugin-macip-in-l2" };
    type Next = To;
    type Trace = MacipTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let sw_if = if TX { b.tx_if } else { b.rx_if };
        judge(&self.0, (sw_if, b.data(), TX), b, cx)
    }
}

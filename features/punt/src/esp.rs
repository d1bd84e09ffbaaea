// SPDX-License-Identifier: Apache-2.0
//! `ip4-esp-punt`, `ip4-esp-udp-punt`, and the same of IPv6: ESP for us without a tunnel. There are
//! no tunnels yet, so all ESP goes here, while a client is registered for the reason.

use crate::reasons::{Reason, name_reason};
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, World, filled};
use ip::{Ip, IpTrace};
use std::marker::PhantomData;
use wire::{Family, Ip4, Ip6, IpProtocol};

/// UDP port of ESP in UDP, and of IKE behind four zeros (RFC 3948 2.2).
const PORT: u16 = 4500;

/// `ip4-esp-punt`: ESP at its IP header.
pub struct Esp<F>(PhantomData<F>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum EspTo {
    /// esp that no tunnel takes
    #[punt]
    NoSuchTunnel,
}

impl<F> Build for Esp<F> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self(PhantomData)
    }
}

impl<F: Ip> Node for Esp<F> {
    const NAME: &'static str = "{ip}-esp-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = EspTo;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> EspTo {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        EspTo::NoSuchTunnel
    }
}

/// `ip4-esp-udp-punt`: datagrams to port 4500, at their payload.
pub struct EspUdp<F>(PhantomData<F>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum EspUdpTo {
    /// ike where an spi would be
    #[punt]
    SpiZero,
    #[next("{ip}-esp-punt")]
    Esp,
    /// neither esp nor ike: what keeps a nat's binding
    #[drop]
    TooShort,
    /// headers are out of reach
    #[drop]
    NoHeader,
}

impl<F> Build for EspUdp<F> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self(PhantomData)
    }
}

impl<F: Ip> Node for EspUdp<F> {
    const NAME: &'static str = "{ip}-esp-udp-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = EspUdpTo;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> EspUdpTo {
        // A byte alone keeps a NAT's binding (RFC 3948 2.3), an SPI is never 0 (RFC 4303 2.1).
        let Some(spi) = b.bytes::<4>(0).map(|spi| u32::from_be_bytes(*spi)) else {
            return EspUdpTo::TooShort;
        };
        // The client gets the whole packet.
        if !b.rewind(b.l3_len()) {
            return EspUdpTo::NoHeader;
        }
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        if spi == 0 { EspUdpTo::SpiZero } else { EspUdpTo::Esp }
    }
}

/// Returns the reasons' names for clients: of ESP, and of IKE on its port.
fn names<F: Family>() -> [&'static str; 2] {
    if F::IS_V6 {
        ["ipsec6-no-such-tunnel", "ipsec6-spi-o-udp-0"]
    } else {
        ["ipsec4-no-such-tunnel", "ipsec4-spi-o-udp-0"]
    }
}

/// Names the reasons.
pub fn start(world: &World) -> Result<(), String> {
    name::<Ip4>(world)?;
    name::<Ip6>(world)
}

fn name<F: Family>(world: &World) -> Result<(), String> {
    let [tunnel, ike] = names::<F>();
    name_reason(world, &filled("{ip}-esp-punt", F::IS_V6), "no_such_tunnel", tunnel)?;
    name_reason(world, &filled("{ip}-esp-udp-punt", F::IS_V6), "spi_zero", ike)
}

/// Registers the nodes for their packets while a client takes the reason.
pub fn follow(world: &World, reason: &Reason, on: bool) -> Result<(), String> {
    follow_of::<Ip4>(world, &reason.name, on)?;
    follow_of::<Ip6>(world, &reason.name, on)
}

fn follow_of<F: Family>(world: &World, name: &str, on: bool) -> Result<(), String> {
    let [tunnel, ike] = names::<F>();
    match (name == tunnel, name == ike, on) {
        (true, _, true) => ip::register_protocol::<F>(world, IpProtocol::ESP, "{ip}-esp-punt"),
        (_, true, true) => ip::register_udp_port::<F>(world, PORT, "{ip}-esp-udp-punt"),
        (true, _, false) => {
            ip::unregister_protocol::<F>(world, IpProtocol::ESP);
            Ok(())
        }
        (_, true, false) => {
            ip::unregister_udp_port::<F>(world, PORT);
            Ok(())
        }
        _ => Ok(()),
    }
}

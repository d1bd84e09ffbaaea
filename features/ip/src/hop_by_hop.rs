// SPDX-License-Identifier: Apache-2.0
//! `ip6-hop-by-hop`: the options that every router on the path processes (RFC 8200 4.3).

use crate::extension;
use crate::family::Refusal;
use crate::family::{IpTrace, arc, error};
use crate::input::enter;
use buffer::Buffer;
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use wire::{ExtHeaders, Header, Icmp6Type, Ip6, IpHeader, IpProtocol, Ipv6Header, UpperLayer};

pub struct HopByHop {
    unicast: ArcIndex,
    multicast: ArcIndex,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip6-lookup")]
    Lookup,
    #[next("ip6-mfib-forward-lookup")]
    Multicast,
    /// ip6 router alert for a protocol that we speak
    #[next("ip6-local", count)]
    RouterAlert,
    #[dynamic]
    Feature(NodeIndex),
    /// ip6 hop-by-hop options are malformed or unknown
    #[next("ip6-icmp-error", reason)]
    Problem,
    /// ip6 hop-by-hop option that we don't know says discard
    #[drop]
    Discard,
    /// ip6 more hop-by-hop options than we look at
    #[drop]
    TooMany,
    /// ip6 length < hop-by-hop header
    #[drop]
    TooShort,
}

impl Build for HopByHop {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            unicast: arc::<Ip6>(world, "{ip}-unicast"),
            multicast: arc::<Ip6>(world, "{ip}-multicast"),
        }
    }
}

/// Router alert: multicast listener discovery (RFC 2711 2.1).
const MLD: u16 = 0;

impl HopByHop {
    fn handle<const TRACED: bool>(&self, b: &mut Buffer, cx: &Cx<'_, TRACED>) -> To {
        let Some(ip) = Ipv6Header::view(b.data()) else { return To::TooShort };
        let to_group = ip.dst().is_multicast();
        let Some(Ok(header)) = ExtHeaders::new(b.data()).next() else { return To::TooShort };
        let asked = match extension::options(&header, to_group) {
            Ok(asked) => asked,
            Err(Refusal::Problem(code, at)) => {
                b.set_scratch(error((Icmp6Type::PARAMETER_PROBLEM.0, code), at));
                return To::Problem;
            }
            Err(Refusal::TooMany) => return To::TooMany,
            Err(_) => return To::Discard,
        };
        // Alerts of a value that has a listener here are delivered; others are forwarded (RFC 6398
        // 4.1).
        let to_icmp = || {
            UpperLayer::find6(b.data())
                .is_ok_and(|u| u.protocol == IpProtocol::ICMP6 && !u.is_fragment())
        };
        if asked.router_alert == Some(MLD) && to_group && to_icmp() {
            return To::RouterAlert;
        }
        enter(b, to_group, self.unicast, self.multicast, cx)
            .map_or(if to_group { To::Multicast } else { To::Lookup }, To::Feature)
    }
}

impl Node for HopByHop {
    const NAME: &'static str = "ip6-hop-by-hop";
    const DROP: &'static str = "ip6-drop";
    type Next = To;
    type Trace = IpTrace<Ip6>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<Ip6>::of(b));
        }
        self.handle(b, cx)
    }
}

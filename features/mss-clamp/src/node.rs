// SPDX-License-Identifier: Apache-2.0
//! `tcp-mss-clamping-ip4-in` and its kind.

use crate::clamp;
use buffer::{Buffer, Flags};
use graph::{Build, ChainStep, Configured, Cx, Next, Node, ThreadIndex, Trace, World};
use net::{Net, PacketColumns, Stage};
use std::fmt;
use std::marker::PhantomData;
use wire::{Header, IpHeader, IpProtocol, TcpFlags};

/// With `OUT`, on the arc of packets that leave.
pub struct Clamp<F: Net, const OUT: bool>(PhantomData<F>);

#[derive(Next, Clone, Copy)]
pub enum To {
    #[next_feature]
    Next,
    /// clamped
    #[count]
    #[counter("clamped")]
    Clamped,
}

#[derive(Clone, Copy)]
pub struct ClampTrace {
    max: u16,
    /// The value that was lowered.
    replaced: Option<u16>,
}

impl Trace for ClampTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.replaced {
            Some(old) => write!(f, "mss {old} clamped to {}", self.max),
            None => write!(f, "not clamped to {}", self.max),
        }
    }
}

impl<F: Net, const OUT: bool> Build for Clamp<F, OUT> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self(PhantomData)
    }
}

/// The greatest MSS that passes.
impl<F: Net, const OUT: bool> Configured for Clamp<F, OUT> {
    type Config = u16;
}

/// True if the IP packet at `packet[0]` may be a SYN: of those that aren't, few are taken for one.
#[inline(always)]
fn may_be_syn<F: Net>(packet: &[u8]) -> bool {
    let Some(ip) = F::Header::view_at(packet, 0) else { return false };
    let protocol = ip.protocol();
    if protocol == IpProtocol::TCP {
        let flags = packet.get(ip.header_len() + clamp::FLAGS);
        return flags.is_some_and(|flags| TcpFlags(*flags).contains(TcpFlags::SYN));
    }
    F::IS_V6 && protocol.is_ip6_extension()
}

/// Lowers the MSS of an IP packet that begins `at` bytes into the buffer's data. Returns the value
/// that was lowered.
#[cold]
#[inline(never)]
pub fn lower(b: &mut Buffer, at: usize, max: u16) -> Option<u16> {
    let (tcp, end) = clamp::find_syn(b.data().get(at..)?)?;
    let (tcp, end) = (at + tcp, at + end);
    let partial = b.flags.contains(Flags::CSUM_PARTIAL) && usize::from(b.offload.csum_start) == tcp;
    clamp::lower(b.data_mut().get_mut(tcp..end)?, max, partial)
}

impl<F: Net, const OUT: bool> Node for Clamp<F, OUT> {
    const NAME: &'static str =
        if OUT { "tcp-mss-clamping-{ip}-out" } else { "tcp-mss-clamping-{ip}-in" };
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = ClampTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let at = if OUT { b.l3_at() } else { 0 };
        let is_candidate = b.data().get(at..).is_some_and(may_be_syn::<F>);
        if is_candidate || TRACED {
            let max = cx.feature_config::<Self>(b);
            let replaced = if is_candidate { lower(b, at, max) } else { None };
            cx.count(To::Clamped, replaced.is_some().into());
            cx.trace(b, ClampTrace { max, replaced });
        }
        To::Next
    }
}

/// The stage of the nodes: packets that aren't SYN pass.
pub struct NoSyn;

impl Build for NoSyn {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl<F: Net> Stage<F> for NoSyn {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        _: ChainStep<'_>,
        _: &Cx<'_, false>,
    ) -> u64 {
        packets.mask(|packets, i| !may_be_syn::<F>(packets.packet(i)))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! An IP in IP tunnel as tunnels of all kinds see it.

use crate::encap::IpIpCodec;
use crate::input::IpIpInput;
use crate::model::IpIp;
use cli::retval::{self, Retval};
use cli::{Error, Result};
use graph::{SwIfIndex, World, name_of};
use net::IfKind;
use tunnel::{Codec, HeaderMarking, Key, Spec, TunnelEndpoints, Tunnels};
use wire::{Ip4, Ip6, IpProtocol, MacAddr};

impl IpIp {
    /// Makes a tunnel.
    ///
    /// # Errors
    /// Ends of two protocols (−153) or the same (−82); another end of a tunnel with several (−58);
    /// a protocol that something else takes (−155); as [`Tunnels::create`].
    pub fn create(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        self.ends.check_mode(self.multipoint)?;
        register::<Ip4>(world)?;
        register::<Ip6>(world)?;
        world.get::<Tunnels<Self>>().create(world, instance, self, None)
    }
}

/// From the first tunnel on, packets of its protocols are for this feature.
pub fn register<F: ip::Ip>(world: &World) -> Result<()> {
    let taken = |why| Error::failed(why).retval(retval::RSRC_IN_USE);
    for protocol in [IpProtocol::IP4, IpProtocol::IP6] {
        ip::register_protocol::<F>(world, protocol, name_of::<IpIpInput<F>>()).map_err(taken)?;
    }
    Ok(())
}

impl Spec for IpIp {
    const PREFIX: &'static str = "ipip";
    const DRIVER: &'static str = "IPIP";
    const EXISTS: Retval = retval::IF_ALREADY_EXISTS;
    const STARTS_UP: bool = false;

    fn ends(&self) -> TunnelEndpoints {
        self.ends
    }

    fn marks(&self) -> HeaderMarking {
        self.marks
    }

    fn encap(&self) -> &'static str {
        IpIpCodec::NAME
    }

    fn key(&self, ends: &TunnelEndpoints, table: u32) -> Key {
        Key::of(ends.local, ends.remote, table)
    }

    fn carries(&self) -> IfKind {
        if self.multipoint { IfKind::Multipoint } else { IfKind::Ip }
    }

    fn mac(&self, _: u32) -> MacAddr {
        MacAddr::ZERO
    }

    fn protocol(&self) -> IpProtocol {
        // The packet decides.
        IpProtocol::IP4
    }

    fn hop_limits(&self) -> [u8; 2] {
        [63, 64]
    }

    fn header(&self) -> Vec<u8> {
        Vec::new()
    }

    fn is_multipoint(&self) -> bool {
        self.multipoint
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A session as tunnels of all kinds see it.

use crate::encap::L2tpCodec;
use crate::model::{L2tp, SUBLAYER};
use crate::sessions::Sessions;
use cli::retval::{self, Retval};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use net::IfKind;
use tunnel::{Codec, HeaderMarking, Key, Spec, TunnelEndpoints, Tunnels};
use wire::{Ip6, IpProtocol, MacAddr};

impl L2tp {
    /// Makes a session. It starts admin down.
    ///
    /// # Errors
    /// Ends that are not both of IPv6 (−9), the same (−82), or not addresses of one host (−57,
    /// −58); a session that received packets couldn't be told from (−7); as [`Tunnels::create`].
    pub fn create(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        let TunnelEndpoints { local, remote, .. } = self.ends;
        if local.is_ipv4() || remote.is_ipv4() {
            let why = format!("L2TPv3 is over IPv6, not between {local} and {remote}");
            return Err(Error::unsupported(why).retval(retval::UNIMPLEMENTED));
        }
        self.ends.check(Self::EXISTS)?;
        if remote.is_multicast() || remote.is_unspecified() {
            let why = wire::not_one_host(remote);
            return Err(Error::parse(why).retval(retval::INVALID_DST_ADDRESS));
        }
        let (tunnels, sessions) = (world.get::<Tunnels<Self>>(), world.get::<Sessions>());
        sessions.check_new(world, &self)?;
        let sw_if = tunnels.create(world, instance, self, None)?;
        let taken = |why| Error::failed(why).retval(retval::RSRC_IN_USE);
        // From the first session on, packets of the protocol are for this feature.
        ip::register_protocol::<Ip6>(world, IpProtocol::L2TP, "l2tp-decap-local")
            .map_err(taken)
            .and_then(|()| tunnels.get(sw_if).map_or(Ok(()), |tunnel| sessions.add(world, &tunnel)))
            .inspect_err(|_| _ = tunnels.delete(world, sw_if))?;
        Ok(sw_if)
    }
}

impl Spec for L2tp {
    const PREFIX: &'static str = "l2tpv3_tunnel";
    const DRIVER: &'static str = "L2TPv3";
    const EXISTS: Retval = retval::INVALID_VALUE;
    const STARTS_UP: bool = false;

    fn encap(&self) -> &'static str {
        L2tpCodec::NAME
    }

    fn ends(&self) -> TunnelEndpoints {
        self.ends
    }

    fn marks(&self) -> HeaderMarking {
        self.marks
    }

    fn key(&self, ends: &TunnelEndpoints, table: u32) -> Key {
        Key { id: self.local_session, ..Key::of(ends.local, ends.remote, table) }
    }

    fn carries(&self) -> IfKind {
        IfKind::Ethernet
    }

    fn mac(&self, _: u32) -> MacAddr {
        tunnel::derived_mac(self)
    }

    fn protocol(&self) -> IpProtocol {
        IpProtocol::L2TP
    }

    fn header(&self) -> Vec<u8> {
        // RFC 3931 4.1.1.1: the session identifier, then the cookie of the other end. A sublayer
        // without a sequence number is zero (4.6).
        let mut header = self.remote_session.to_be_bytes().to_vec();
        header.extend(self.remote_cookie.0.to_be_bytes());
        if self.sublayer {
            header.extend([0; SUBLAYER]);
        }
        header
    }
}

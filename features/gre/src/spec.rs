// SPDX-License-Identifier: Apache-2.0
//! A GRE tunnel as tunnels of all kinds see it.

use crate::encap::{ErspanCodec, GreCodec, TebCodec};
use crate::input::GreInput;
use crate::model::{ERSPAN, ETHERNET, Gre, IP, MAX_SESSION, Payload};
use cli::retval::{self, Retval};
use cli::{Error, Result};
use graph::{SwIfIndex, World, name_of};
use net::IfKind;
use tunnel::{Codec, HeaderMarking, Key, Spec, TunnelEndpoints, Tunnels};
use wire::{EtherType, Gre as Header, Ip4, Ip6, IpProtocol, MacAddr, U16};
use zerocopy::IntoBytes;

impl Gre {
    /// Makes a tunnel.
    ///
    /// # Errors
    /// Ends of two protocols (−153) or the same (−82); another end of a tunnel with several (−58),
    /// which carries IP packets (−8); the number of a session (−148); a protocol that something
    /// else takes (−155); as [`Tunnels::create`].
    pub fn create(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        self.ends.check_mode(self.multipoint)?;
        if self.multipoint && self.payload != Payload::Ip {
            let why = "a tunnel with several other ends carries IP packets, no frames";
            return Err(Error::unsupported(why).retval(retval::INVALID_VALUE_2));
        }
        if let Payload::Erspan { session } = self.payload
            && session > MAX_SESSION
        {
            let why = format!("the number of a session is at most {MAX_SESSION}, not {session}");
            return Err(Error::parse(why).retval(retval::INVALID_SESSION_ID));
        }
        register::<Ip4>(world)?;
        register::<Ip6>(world)?;
        world.get::<Tunnels<Self>>().create(world, instance, self, None)
    }
}

/// From the first tunnel on, packets of the protocol are for this feature.
fn register<F: ip::Ip>(world: &World) -> Result<()> {
    let taken = |why| Error::failed(why).retval(retval::RSRC_IN_USE);
    ip::register_protocol::<F>(world, IpProtocol::GRE, name_of::<GreInput<F>>()).map_err(taken)
}

impl Spec for Gre {
    const PREFIX: &'static str = "gre";
    const DRIVER: &'static str = "GRE";
    const EXISTS: Retval = retval::IF_ALREADY_EXISTS;
    const STARTS_UP: bool = false;

    fn encap(&self) -> &'static str {
        match self.payload {
            Payload::Ip => GreCodec::NAME,
            Payload::Ethernet => TebCodec::NAME,
            Payload::Erspan { .. } => ErspanCodec::NAME,
        }
    }

    fn ends(&self) -> TunnelEndpoints {
        self.ends
    }

    fn marks(&self) -> HeaderMarking {
        self.marks
    }

    fn key(&self, ends: &TunnelEndpoints, table: u32) -> Key {
        let other = match self.payload {
            Payload::Ip => IP,
            Payload::Ethernet => ETHERNET,
            Payload::Erspan { session } => ERSPAN + u32::from(session),
        };
        Key { id: self.key, other, ..Key::of(ends.local, ends.remote, table) }
    }

    fn carries(&self) -> IfKind {
        match (self.payload, self.multipoint) {
            (Payload::Ip, false) => IfKind::Ip,
            (Payload::Ip, true) => IfKind::Multipoint,
            _ => IfKind::Ethernet,
        }
    }

    fn mac(&self, instance: u32) -> MacAddr {
        if self.payload == Payload::Ip {
            return MacAddr::ZERO;
        }
        tunnel::numbered_mac(instance)
    }

    fn protocol(&self) -> IpProtocol {
        IpProtocol::GRE
    }

    fn header(&self) -> Vec<u8> {
        let key = if self.key == 0 { 0 } else { Header::KEY };
        let (flags, protocol) = match self.payload {
            // The packet decides about the protocol.
            Payload::Ip => (key, EtherType::IP4),
            Payload::Ethernet => (key, EtherType::TEB),
            Payload::Erspan { .. } => (key | Header::SEQUENCE, EtherType::ERSPAN),
        };
        let mut header =
            Header { flags: U16::new(flags), protocol: protocol.into() }.as_bytes().to_vec();
        if self.key != 0 {
            header.extend(self.key.to_be_bytes());
        }
        if let Payload::Erspan { session } = self.payload {
            // The sequence number, then ERSPAN's own header: version 1, no VLAN, the frame as it
            // was on the wire (3), the session.
            header.extend([0; 4]);
            let [high, low] = session.to_be_bytes();
            header.extend([0x10, 0, 3 << 3 | high, low, 0, 0, 0, 0]);
        }
        header
    }

    fn has_sequence(&self) -> bool {
        matches!(self.payload, Payload::Erspan { .. })
    }

    fn is_multipoint(&self) -> bool {
        self.multipoint
    }
}

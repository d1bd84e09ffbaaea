// SPDX-License-Identifier: Apache-2.0
//! Kinds whose own header is behind a UDP header: VXLAN, GENEVE, GTP-U.
//!
//! A kind says what its header means ([`Datagrams`]). Ports, tunnels to groups, the nodes that take
//! headers off ([`Input`]) and those that take datagrams out of received packets before these are
//! looked up ([`Bypass`]) are the same for all.

mod bypass;
mod device;
mod input;
mod next;
mod stage;

pub use bypass::{Bypass, BypassInterfaces, bypass_feature};
pub use device::{refuse_offload, set_offload};
pub use input::{Input, InputTrace, Nothing, Onto, Outcome, Own};
pub use next::Next;
pub use stage::{BypassStage, bypass_stage};

use crate::model::{Spec, TunnelEndpoints};
use crate::state::Tunnels;
use crate::{Decap, Key, bits, derived_mac};
use buffer::Buffer;
use cli::{Error, Result, retval};
use graph::{Build, Shared, SwIfIndex, World, filled};
use ip::Ip;
use net::{FloodRole, Interfaces};
use std::collections::BTreeMap;
use std::sync::Mutex;
use sync::Turn;
use wire::{Ip4, Ip6, MacAddr};

/// The functions of [`Spec`] that all kinds in datagrams have alike, which have the fields `ends`
/// and `marks`; with a codec for each IP version also the name of its node.
#[macro_export]
macro_rules! in_datagrams {
    ($Codec:ident) => {
        $crate::in_datagrams!();

        fn encap(&self) -> &'static str {
            match self.ends.local.is_ipv6() {
                true => <$Codec<true> as $crate::Codec>::NAME,
                false => <$Codec<false> as $crate::Codec>::NAME,
            }
        }
    };
    () => {
        fn ends(&self) -> $crate::TunnelEndpoints {
            self.ends
        }

        fn marks(&self) -> $crate::HeaderMarking {
            self.marks
        }

        fn key(&self, ends: &$crate::TunnelEndpoints, table: u32) -> $crate::Key {
            self.datagram_key(ends, table)
        }

        fn protocol(&self) -> wire::IpProtocol {
            wire::IpProtocol::UDP
        }

        fn flood_role(&self) -> net::FloodRole {
            self.datagram_flood_role()
        }
    };
}

/// Bytes of the header of a kind, without options and extensions.
pub const OWN: usize = 8;

/// A kind whose own header is behind a UDP header.
pub trait Datagrams: Spec {
    /// Its name in commands: `vxlan`.
    const WORD: &'static str;
    /// The usual port.
    const PORT: u16;
    /// The name of the number of a tunnel in traces: `vni`.
    const NUMBER: &'static str;
    /// The name of the nodes that take headers off, with `{4|6}` for the IP version.
    const INPUT: &'static str;
    /// The name of the nodes that take datagrams out of received packets, with `{ip}`.
    const BYPASS: &'static str;
    /// The bytes of its header that decide about a received packet, if nothing else does and there
    /// are no options.
    const DECISIVE: Option<[u8; OWN]> = None;
    /// Next nodes of decapsulated packets, made by [`datagram_next!`](crate::datagram_next).
    type To: Outcome;
    /// State of the kind that its nodes read; [`Nothing`] without.
    type Reader: Build + Send;

    /// The number of the tunnel in a received header.
    fn number_in(header: &[u8; OWN]) -> u32;
    /// The number of the tunnel in headers that it receives.
    fn number(&self) -> u32;
    /// The port that datagrams come to.
    fn port(&self) -> u16 {
        Self::PORT
    }

    /// Reads the header that begins `at` bytes into a packet.
    ///
    /// # Errors
    /// Why the packet isn't decapsulated.
    fn read(
        reader: &Self::Reader,
        b: &Buffer,
        at: usize,
        header: &[u8; OWN],
        turn: &Turn<'_>,
    ) -> std::result::Result<Own, Self::To>;

    /// The next node of a packet that isn't decapsulated, which begins with its IP header: `to`
    /// without a definition.
    #[inline(always)]
    fn otherwise<F: Ip>(
        _: &Self::Reader,
        _: &Decap<Self>,
        _: &mut Buffer,
        to: Self::To,
        _: &Turn<'_>,
    ) -> Self::To {
        to
    }

    /// Checks a new tunnel of the kind.
    ///
    /// # Errors
    /// Parameters that the kind doesn't take.
    fn check(&self, _world: &World) -> Result<()> {
        Ok(())
    }

    /// Notes a new tunnel of the kind.
    fn made(&self, _world: &World, _sw_if: SwIfIndex) {}

    /// [`Spec::key`] of all these kinds.
    fn datagram_key(&self, ends: &TunnelEndpoints, table: u32) -> Key {
        let (id, other) = (self.number(), self.port().into());
        // Packets for a group may come from anybody.
        if ends.remote.is_multicast() {
            Key { local: bits(ends.remote), remote: 0, table, id, other }
        } else {
            Key { id, other, ..Key::of(ends.local, ends.remote, table) }
        }
    }

    /// The part that a tunnel has in the floods of a bridge domain: floods go to the group alone,
    /// if there is a tunnel to one.
    fn datagram_flood_role(&self) -> FloodRole {
        if self.ends().remote.is_multicast() { FloodRole::Group } else { FloodRole::OneOfGroup }
    }

    /// A MAC address that the two ends of a tunnel don't share, and that is the same after a
    /// restart.
    fn derived_mac(&self) -> MacAddr {
        derived_mac(self)
    }
}

/// The ports that were registered, of IPv6 if the first is set, and their nodes.
#[derive(Default)]
pub struct Ports(Mutex<BTreeMap<(bool, u16), &'static str>>);

impl Shared for Ports {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Ports {
    /// From the first tunnel on, datagrams to its port are for the kind.
    fn register<K: Datagrams>(&self, world: &World, is_v6: bool, port: u16) -> Result<()> {
        let mut ports = self.0.lock().expect("no panic inside");
        if ports.get(&(is_v6, port)) == Some(&K::INPUT) {
            return Ok(());
        }
        let done = if is_v6 {
            ip::register_udp_port::<Ip6>(world, port, &filled(K::INPUT, true))
        } else {
            ip::register_udp_port::<Ip4>(world, port, &filled(K::INPUT, false))
        };
        done.map_err(|why| Error::failed(why).retval(retval::UDP_PORT_TAKEN))?;
        if is_v6 {
            ip::accept_no_checksum::<Ip6>(world, port);
        }
        ports.insert((is_v6, port), K::INPUT);
        Ok(())
    }
}

impl<K: Datagrams> Tunnels<K> {
    /// Makes a tunnel of datagrams.
    ///
    /// # Errors
    /// Ends of two protocols (−7) or the same (−82); a group without an interface, or one that
    /// isn't there (−2); a port that another feature has (−164); as [`Tunnels::create`].
    pub fn create_on_port(
        &self,
        world: &World,
        instance: Option<u32>,
        spec: K,
    ) -> Result<SwIfIndex> {
        let ends = spec.ends();
        let by = ends.group_interface;
        ends.check(retval::INVALID_VALUE)?;
        ends.check_local()?;
        match (ends.remote.is_multicast(), by) {
            (true, None) => {
                let why = format!("datagrams to {} need an interface to leave by", ends.remote);
                return Err(Error::parse(why).retval(retval::INVALID_SW_IF_INDEX));
            }
            (true, Some(by)) => world.get::<Interfaces>().check(by)?,
            (false, _) => {}
        }
        ends.table_index(world)?;
        spec.check(world)?;
        world.get::<Ports>().register::<K>(world, ends.local.is_ipv6(), spec.port())?;
        let sw_if = self.create(world, instance, spec.clone(), by)?;
        spec.made(world, sw_if);
        Ok(sw_if)
    }

    /// Makes a tunnel, or deletes the one with the same ends, and returns its interface.
    ///
    /// # Errors
    /// As [`Self::create_on_port`], and a tunnel to be deleted that isn't there (−6).
    pub fn add_del(
        &self,
        world: &World,
        is_add: bool,
        instance: Option<u32>,
        spec: K,
    ) -> Result<SwIfIndex> {
        if is_add {
            return self.create_on_port(world, instance, spec);
        }
        let sw_if = self.find(world, &spec)?;
        self.delete(world, sw_if)?;
        Ok(sw_if)
    }
}

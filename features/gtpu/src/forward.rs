// SPDX-License-Identifier: Apache-2.0
//! Datagrams that no tunnel takes, forwarded whole to another address.

use crate::answer::Answers;
use crate::encap::GtpuCodec;
use crate::input::To;
use crate::model::{Gtpu, is_ip};
use buffer::{Buffer, Flags};
use cli::{Error, Result, retval};
use graph::{Build, Deleted, NodeIndex, Shared, SwIfIndex, ThreadIndex, World};
use ip::Ip;
use net::{Addresses, Device, IfKind, Implied, Interfaces, NewInterface};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Snapshot, Turn};
use tunnel::{Codec, Decap, Next, Onto, Receipt, Spec, Tunnels};
use wire::checksum::{Sum, update_udp};
use wire::{
    Gtpu as GtpuHeader, Header, Ip4, Ip6, IpProtocol, Ipv4Header, MacAddr, UdpHeader, UpperLayer,
};

/// Why no tunnel takes a datagram.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// Its header can't be read.
    BadHeader,
    /// No tunnel has its TEID.
    UnknownTeid,
    /// It is another message than user data.
    UnknownType,
}

impl Cause {
    /// All, with their words in commands.
    pub const ALL: [(&'static str, Self); 3] = [
        ("bad-header", Self::BadHeader),
        ("unknown-teid", Self::UnknownTeid),
        ("unknown-type", Self::UnknownType),
    ];

    /// The word in commands.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// A forward: one for each cause and IP version.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Forward {
    /// The interface that receives the datagrams.
    pub sw_if: SwIfIndex,
    /// The number in its name.
    pub instance: u32,
    /// The datagrams that it takes.
    pub cause: Cause,
    /// Their new destination.
    pub to: IpAddr,
    /// Id of the table that they are routed in.
    pub table: u32,
    /// Their next node.
    pub next: Next,
}

/// The part that workers read.
#[derive(Clone, Copy)]
struct Published {
    sw_if: u32,
    to: IpAddr,
    onto: Option<Onto>,
    node: Option<NodeIndex>,
}

type ByCause = [Option<Published>; 3];

/// The forwards.
pub struct Forwards {
    /// By cause, of IPv6 if the first is set.
    all: Mutex<BTreeMap<(bool, Cause), Forward>>,
    /// The forwards of IPv4, then of IPv6.
    published: Snapshot<[ByCause; 2]>,
}

struct ForwardDevice;

impl Device for ForwardDevice {
    fn driver(&self) -> &'static str {
        Gtpu::DRIVER
    }

    fn is_tunnel(&self) -> bool {
        true
    }
}

impl Shared for Forwards {
    fn make(world: &World) -> Self {
        let published = Snapshot::new(world.qsbr.clone(), [[None; 3]; 2]);
        Self { all: Mutex::default(), published }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        let gone = {
            let mut all = self.all();
            let gone = all.iter().find(|(_, forward)| forward.sw_if == *sw_if).map(|(key, _)| *key);
            gone.and_then(|key| all.remove(&key))
        };
        if let Some(forward) = gone {
            self.publish(world);
            world.get::<Tunnels<Gtpu>>().release_instance(forward.instance);
        }
    }
}

impl Forwards {
    fn all(&self) -> MutexGuard<'_, BTreeMap<(bool, Cause), Forward>> {
        self.all.lock().expect("no panic inside")
    }

    fn publish(&self, world: &World) {
        let mut published = [[None; 3]; 2];
        for ((is_v6, cause), forward) in self.all().iter() {
            let (onto, node) = match forward.next {
                // The whole packet has no Ethernet header: the input of its protocol takes it.
                Next::Interface => (Some(if *is_v6 { Onto::Ip6 } else { Onto::Ip4 }), None),
                Next::Drop => (None, world.node("error-drop")),
                Next::Node(name) => (None, world.node(name)),
            };
            let Forward { sw_if, to, .. } = *forward;
            let one = Published { sw_if: sw_if.0, to, onto, node };
            published[usize::from(*is_v6)][*cause as usize] = Some(one);
        }
        self.published.set(published);
    }

    /// All forwards, by interface.
    pub fn list(&self) -> Vec<Forward> {
        let mut all: Vec<_> = self.all().values().copied().collect();
        all.sort_unstable_by_key(|forward| forward.sw_if);
        all
    }

    /// The forward of an interface.
    pub fn get(&self, sw_if: SwIfIndex) -> Option<Forward> {
        self.all().values().find(|forward| forward.sw_if == sw_if).copied()
    }

    /// Forwards datagrams of a cause to an address, by an interface of its own in the table.
    ///
    /// # Errors
    /// There is one already (−75); a table that isn't there (−3); a number that is taken (−147); an
    /// address that is none of one host or an own one (−58), a next node that takes frames (−76).
    pub fn create(
        &self,
        world: &World,
        instance: Option<u32>,
        (cause, to): (Cause, IpAddr),
        table: u32,
        next: Next,
    ) -> Result<SwIfIndex> {
        let is_v6 = to.is_ipv6();
        if to.is_multicast() || to.is_unspecified() {
            let why = wire::not_one_host(to);
            return Err(Error::parse(why).retval(retval::INVALID_DST_ADDRESS));
        }
        if !is_ip(next) && matches!(next, Next::Node(_)) {
            let why = "forwarded datagrams are IP packets: decap-next is ip4, ip6 or drop";
            return Err(Error::parse(why).retval(retval::INVALID_DECAP_NEXT));
        }
        if let Some(other) = self.all().get(&(is_v6, cause)) {
            let why = format!("{} is forwarded to {} already", cause.word(), other.to);
            return Err(Error::failed(why).retval(Gtpu::EXISTS));
        }
        let ends = tunnel::TunnelEndpoints::new(to, to, table, None);
        let table_index = ends.table_index(world)?;
        let own = match to {
            IpAddr::V4(to) => world.get::<Addresses<Ip4>>().owner(table_index, to),
            IpAddr::V6(to) => world.get::<Addresses<Ip6>>().owner(table_index, to),
        };
        if let Some(own) = own.filter(|_| next == Next::Interface || is_ip(next)) {
            let why = format!(
                "{to} is an address of {}: datagrams would come back",
                world.get::<Interfaces>().name(own)
            );
            return Err(Error::failed(why).retval(retval::INVALID_DST_ADDRESS));
        }
        let codec = if is_v6 { GtpuCodec::<true>::NAME } else { GtpuCodec::<false>::NAME };
        let tx = world.node(codec).ok_or_else(|| Error::unsupported("GTP-U is switched off"))?;
        let tunnels = world.get::<Tunnels<Gtpu>>();
        let instance = tunnels.take_instance(instance)?;
        let made = make_interface(world, instance, tx)
            .and_then(|sw_if| set_up(world, sw_if, is_v6, table).map(|()| sw_if));
        let sw_if = made.inspect_err(|_| tunnels.release_instance(instance))?;
        let forward = Forward { sw_if, instance, cause, to, table, next };
        self.all().insert((is_v6, cause), forward);
        self.publish(world);
        Ok(sw_if)
    }

    /// Deletes the forward of a cause and the protocol of an address. Returns its interface.
    ///
    /// # Errors
    /// There is none (−6).
    pub fn delete(&self, world: &World, cause: Cause, to: IpAddr) -> Result<SwIfIndex> {
        let known = self.all().get(&(to.is_ipv6(), cause)).copied();
        let forward = known.ok_or_else(|| {
            Error::not_found(format!("{} isn't forwarded", cause.word()))
                .retval(retval::NO_SUCH_ENTRY)
        })?;
        world.get::<Interfaces>().delete(world, forward.sw_if)?;
        Ok(forward.sw_if)
    }
}

fn make_interface(world: &World, instance: u32, tx: NodeIndex) -> Result<SwIfIndex> {
    let new = NewInterface {
        name: format!("{}{instance}", Gtpu::PREFIX),
        kind: IfKind::Ip,
        device: Arc::new(ForwardDevice),
        mac: MacAddr::ZERO,
        mtu: 9000,
        link_up: true,
    };
    world.get::<Interfaces>().create_sharing(world, new, None, tx)
}

/// Datagrams are routed in a table.
fn set_up(world: &World, sw_if: SwIfIndex, is_v6: bool, table: u32) -> Result<()> {
    let tables = if is_v6 { [0, table] } else { [table, 0] };
    net::imply(world, sw_if, Implied { up: true, tables, ip: [!is_v6, is_v6] })
        .inspect_err(|_| _ = world.get::<Interfaces>().delete(world, sw_if))
}

/// Forwards and answers, as nodes read them.
pub struct Otherwise {
    forwards: Arc<Forwards>,
    answers: Arc<Answers>,
}

impl Build for Otherwise {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { forwards: world.get(), answers: world.get() }
    }
}

impl Otherwise {
    /// Forwards a datagram that no tunnel takes, which begins with its IP header, or has it
    /// answered. Without either for `why`, that is its next node.
    #[inline(always)]
    pub fn take<F: Ip>(&self, decap: &Decap<Gtpu>, b: &mut Buffer, why: To, turn: &Turn<'_>) -> To {
        let cause = match why {
            To::TooShort | To::BadVersion | To::BadExtensions | To::UnknownExtension => {
                Cause::BadHeader
            }
            To::NoTunnel => Cause::UnknownTeid,
            To::BadType => Cause::UnknownType,
            _ => return why,
        };
        let known = self.forwards.published.get(turn)[usize::from(F::IS_V6)][cause as usize];
        match known {
            Some(forward) => send::<F>(forward, decap, b, turn).unwrap_or_else(|why| why),
            None if self.is_answered::<F>(b, cause, turn) => To::Answer,
            None => why,
        }
    }

    #[inline(never)]
    fn is_answered<F: Ip>(&self, b: &Buffer, cause: Cause, turn: &Turn<'_>) -> bool {
        let header = UpperLayer::of::<F>(b.data())
            .ok()
            .and_then(|upper| GtpuHeader::view_at(b.data(), upper.offset + UdpHeader::LEN));
        // Errors about a bad header aren't told.
        cause != Cause::BadHeader
            && header.is_some_and(|header| self.answers.is_answered(header, turn))
    }
}

#[inline(never)]
fn send<F: Ip>(
    forward: Published,
    decap: &Decap<Gtpu>,
    b: &mut Buffer,
    turn: &Turn<'_>,
) -> std::result::Result<To, To> {
    // The new destination may lead back here, by an address that came later or by another router.
    if !b.flags.count_return() {
        return Err(To::Looped);
    }
    let upper = UpperLayer::of::<F>(b.data()).map_err(|_| To::TooShort)?;
    // The checksum is to be that of the new destination.
    driver::finish_checksum(b);
    b.flags.remove(Flags::CSUM_PARTIAL);
    let sw_if = forward.sw_if;
    let receipt = Receipt { sw_if, counts: sw_if, is_frame: false };
    decap.receive_for(b, receipt, tunnel::Flags::default(), 0, 0, turn)?;
    redirect(b.data_mut(), upper, forward.to).ok_or(To::TooShort)?;
    match (forward.node, forward.onto) {
        (Some(node), _) => Ok(To::Node(node)),
        (None, Some(onto)) => Ok(onto.into()),
        (None, None) => Err(To::NoTunnel),
    }
}

/// Writes another destination into an IP packet, and the checksums that depend on it.
fn redirect(packet: &mut [u8], upper: UpperLayer, to: IpAddr) -> Option<()> {
    let (removed, added) = match to {
        IpAddr::V4(to) => replace(packet.get_mut(16..20)?, &to.octets()),
        IpAddr::V6(to) => replace(packet.get_mut(24..40)?, &to.octets()),
    };
    if to.is_ipv4() {
        Ipv4Header::set_checksum_at(packet);
    }
    if upper.protocol == IpProtocol::UDP {
        let udp = packet.get_mut(upper.offset..)?;
        let udp = UdpHeader::view_mut(udp)?;
        udp.checksum.set(update_udp(udp.checksum.get(), removed, added));
    }
    Some(())
}

/// Replaces an address; returns the sums of both.
fn replace(field: &mut [u8], new: &[u8]) -> (Sum, Sum) {
    let removed = Sum::of(field);
    field.copy_from_slice(new);
    (removed, Sum::of(new))
}

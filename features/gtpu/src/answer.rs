// SPDX-License-Identifier: Apache-2.0
//! `gtpu4-answer`, `gtpu6-answer`: echo requests become echo responses, and user data for an
//! endpoint that isn't there becomes an error indication (3GPP TS 29.281 7.2, 7.3.1). Both are
//! off until `set gtpu answer` switches them on.

use buffer::{Buffer, Cache, Flags};
use graph::{Build, Cx, Next, Node, Shared, ThreadIndex, World};
use ip::{ErrorLimit, Ip, IpTrace};
use net::{Addresses, IpMeta};
use std::net::IpAddr;
use std::sync::Arc;
use sync::{Snapshot, TokenBucket, Turn};
use wire::checksum::Sum;
use wire::{Gtpu, Header, IpHeader, IpProtocol, Ipv6Header, U16, UdpHeader, UpperLayer};

/// Messages that are answered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Settings {
    /// Echo requests, by echo responses.
    pub echo: bool,
    /// User data for an unknown endpoint, by error indications.
    pub error: bool,
}

/// The settings, as workers and commands read them.
pub struct Answers(Snapshot<Settings>);

impl Shared for Answers {
    fn make(world: &World) -> Self {
        Self(Snapshot::new(world.qsbr.clone(), Settings::default()))
    }
}

impl Answers {
    /// The settings.
    pub fn get(&self) -> Settings {
        self.0.read(|settings| *settings)
    }

    /// Changes the settings.
    pub fn set(&self, world: &World, settings: Settings) {
        self.0.set(settings);
        world.note_config_change();
    }

    /// Returns true if a message that no tunnel has taken is answered. `header` is its mandatory
    /// part.
    #[inline(always)]
    pub fn is_answered(&self, header: &Gtpu, turn: &Turn<'_>) -> bool {
        let settings = self.0.get(turn);
        match header.message {
            Gtpu::ECHO_REQUEST => settings.echo,
            Gtpu::G_PDU => settings.error,
            _ => false,
        }
    }
}

/// A message of the path between two endpoints, from its UDP header on.
struct Message {
    bytes: [u8; Self::LONGEST],
    len: usize,
}

impl Message {
    /// UDP, header, sequence number and the like, UDP port, endpoint, address of IPv6.
    const LONGEST: usize = UdpHeader::LEN + size_of::<Gtpu>() + Gtpu::OPTIONAL + 4 + 5 + 19;

    fn new() -> Self {
        Self { bytes: [0; Self::LONGEST], len: UdpHeader::LEN }
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(slot) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            slot.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }

    /// The response to an echo request with a sequence number. A restart counter would be
    /// meaningless: it is 0 (7.2.2).
    fn echo_response(sequence: [u8; 2]) -> Self {
        let mut message = Self::new();
        message.add(&[Gtpu::V1 | Gtpu::SEQUENCE, Gtpu::ECHO_RESPONSE, 0, 6, 0, 0, 0, 0]);
        message.add(&sequence);
        message.add(&[0, 0, Gtpu::RECOVERY, 0]);
        message
    }

    /// The error about user data from a UDP port, for an endpoint at one of our addresses
    /// (7.3.1). The port is in an extension header (5.2.2.1).
    fn error_indication(teid: u32, port: u16, address: IpAddr) -> Self {
        let mut message = Self::new();
        let address = match &address {
            IpAddr::V4(address) => &address.octets()[..],
            IpAddr::V6(address) => &address.octets()[..],
        };
        let flags = Gtpu::V1 | Gtpu::SEQUENCE | Gtpu::EXTENSION;
        let length = Gtpu::OPTIONAL + 4 + 5 + 3 + address.len();
        message.add(&[flags, Gtpu::ERROR_INDICATION, 0, length as u8, 0, 0, 0, 0]);
        // 5.1: the sequence number of an error indication is 0.
        message.add(&[0, 0, 0, Gtpu::UDP_PORT]);
        let [high, low] = port.to_be_bytes();
        message.add(&[1, high, low, 0]);
        message.add(&[Gtpu::TEID_DATA]);
        message.add(&teid.to_be_bytes());
        message.add(&[Gtpu::PEER_ADDRESS, 0, address.len() as u8]);
        message.add(address);
        message
    }

    /// Puts the message in the place of what is in the buffer: a packet that we send.
    fn replace<F: Ip>(
        &mut self,
        b: &mut Buffer,
        (from, to, port): (F::Addr, F::Addr, u16),
        cache: &mut Cache,
    ) {
        let len = self.len as u16;
        let ip = F::whole(from, to, IpProtocol::UDP, len);
        if let Some(udp) = UdpHeader::view_mut(&mut self.bytes) {
            udp.src_port = U16::new(Gtpu::PORT);
            udp.dst_port = U16::new(port);
            udp.len = U16::new(len);
        }
        let sum = ip.pseudo_sum(IpProtocol::UDP, len.into()) + Sum::of(&self.bytes[..self.len]);
        if let Some(udp) = UdpHeader::view_mut(&mut self.bytes) {
            // RFC 768: a sum of 0 is sent as all ones.
            udp.checksum = U16::new(match sum.finish() {
                0 => 0xffff,
                sum => sum,
            });
        }
        let mut packet = [0; Ipv6Header::LEN + Self::LONGEST];
        if let Some(slot) = F::Header::view_mut(&mut packet) {
            *slot = ip;
        }
        packet[F::HEADER_LEN..][..self.len].copy_from_slice(&self.bytes[..self.len]);
        ip::replace(b, &packet[..F::HEADER_LEN + self.len], cache);
    }
}

/// Answers messages that begin with their IP header.
pub struct Answer<F: Ip> {
    limit: Arc<ErrorLimit<F>>,
    addresses: Arc<Addresses<F>>,
    bucket: TokenBucket,
}

/// Where answers go.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// echo responses sent
    #[next("{ip}-lookup", count)]
    EchoResponse,
    /// error indications sent
    #[next("{ip}-lookup", count)]
    ErrorIndication,
    /// echo request without sequence number
    #[drop]
    NoSequence,
    /// no answer to a message to several hosts
    #[drop]
    Group,
    /// no answer to a source that is no single host
    #[drop]
    Source,
    /// error rate limit reached
    #[drop]
    RateLimited,
    /// message shorter than its headers
    #[drop]
    TooShort,
}

impl<F: Ip> Build for Answer<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { limit: world.get(), addresses: world.get(), bucket: TokenBucket::default() }
    }
}

impl<F: Ip> Answer<F> {
    fn answer<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(&ip) = F::Header::view(b.data()) else { return To::TooShort };
        let Ok(upper) = UpperLayer::of::<F>(b.data()) else { return To::TooShort };
        let Some(&udp) = UdpHeader::view_at(b.data(), upper.offset) else { return To::TooShort };
        let at = upper.offset + UdpHeader::LEN;
        let Some(&header) = Gtpu::view_at(b.data(), at) else { return To::TooShort };
        let own = self.addresses.of(b.rx_if, cx.turn);
        if F::is_group(ip.dst(), own)
            || b.flags.intersects(Flags::L2_BROADCAST | Flags::L2_MULTICAST)
        {
            return To::Group;
        }
        if !F::is_host(ip.src(), own) {
            return To::Source;
        }
        // 4.4.2: a response goes to the port that the request is from, an error to the
        // registered one.
        let (mut message, port, to) = if header.message == Gtpu::ECHO_REQUEST {
            // 5.1: these messages have one.
            if header.flags & Gtpu::SEQUENCE == 0 {
                return To::NoSequence;
            }
            let Some(sequence) = b.bytes::<2>(at + size_of::<Gtpu>()) else {
                return To::TooShort;
            };
            (Message::echo_response(*sequence), udp.src_port.get(), To::EchoResponse)
        } else {
            if !self.bucket.take(cx.now(), self.limit.get(cx.turn)) {
                return To::RateLimited;
            }
            let (teid, from) = (header.teid.get(), udp.src_port.get());
            let message = Message::error_indication(teid, from, ip.dst().into());
            (message, Gtpu::PORT, To::ErrorIndication)
        };
        let table = b.scratch::<IpMeta>().fib;
        message.replace::<F>(b, (ip.dst(), ip.src(), port), cx.cache());
        // Back in the table that the message came in.
        b.tx_if = table;
        b.flags.insert(Flags::TABLE);
        to
    }
}

impl<F: Ip> Node for Answer<F> {
    const NAME: &'static str = "gtpu{4|6}-answer";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let to = self.answer(b, cx);
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        to
    }
}

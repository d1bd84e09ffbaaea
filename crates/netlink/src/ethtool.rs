// SPDX-License-Identifier: Apache-2.0
//! Speeds and offloads of links, by ethtool's messages of generic netlink (Linux 5.6; the kernel's
//! `Documentation/networking/ethtool-netlink.rst`). They belong to the socket's network namespace,
//! where files of /sys belong to the one that was current when /sys was mounted.

use std::io;

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NLM_F_ACK, NlasIterator, parse_u16, parse_u32,
};
use netlink_packet_generic::constants::CTRL_ATTR_FAMILY_ID;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd, nlas::GenlCtrlAttrs};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};

use crate::requests::Requests;
use crate::socket::malformed;
use crate::{Link, Namespace};

/// `ETHTOOL_MSG_LINKMODES_GET` with its header, and of its answer the speed.
const LINKMODES_GET: u8 = 4;
const LINKMODES_HEADER: u16 = 1;
const HEADER_DEV_INDEX: u16 = 1;
const LINKMODES_SPEED: u16 = 5;

/// `ETHTOOL_MSG_FEATURES_SET` with its header and its bit set.
const FEATURES_SET: u8 = 12;
const FEATURES_HEADER: u16 = 1;
const FEATURES_WANTED: u16 = 3;
const BITSET_BITS: u16 = 3;
const BITS_BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// `ETHTOOL_MSG_CHANNELS_GET`; of its answer the numbers of channels in use.
const CHANNELS_GET: u8 = 17;
const CHANNELS_RX: u16 = 6;
const CHANNELS_TX: u16 = 7;
const CHANNELS_COMBINED: u16 = 9;

/// `SPEED_UNKNOWN`
const UNKNOWN: u32 = u32::MAX;

/// A socket for questions about links that rtnetlink doesn't answer.
#[derive(Debug)]
pub struct Ethtool {
    requests: Requests,
    family: u16,
}

/// Queues of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Channels {
    /// Queues that receive.
    pub rx: u32,
    /// Queues that send.
    pub tx: u32,
}

/// A message of ethtool.
#[derive(Debug)]
pub(crate) struct Ask {
    pub command: u8,
    pub attributes: Vec<DefaultNla>,
}

/// An attribute that contains others, marked as such: the kernel wants that.
fn container(kind: u16, inner: &[DefaultNla]) -> DefaultNla {
    let mut value = vec![0; inner.buffer_len()];
    inner.emit(&mut value);
    DefaultNla::new(kind | NLA_F_NESTED, value)
}

/// The attribute `kind` that names a link.
pub(crate) fn device(kind: u16, index: u32) -> DefaultNla {
    container(kind, &[DefaultNla::new(HEADER_DEV_INDEX, index.to_ne_bytes().to_vec())])
}

impl Ask {
    fn link_modes(index: u32) -> Self {
        Self { command: LINKMODES_GET, attributes: vec![device(LINKMODES_HEADER, index)] }
    }

    fn channels(index: u32) -> Self {
        // Its header has the number of the other's.
        Self { command: CHANNELS_GET, attributes: vec![device(LINKMODES_HEADER, index)] }
    }

    fn features(index: u32, names: &[&str], on: bool) -> Self {
        let bit = |name: &&str| {
            let mut text = name.as_bytes().to_vec();
            text.push(0);
            let mut bit = vec![DefaultNla::new(BIT_NAME, text)];
            if on {
                bit.push(DefaultNla::new(BIT_VALUE, Vec::new()));
            }
            container(BITS_BIT, &bit)
        };
        let bits: Vec<_> = names.iter().map(bit).collect();
        let wanted = container(FEATURES_WANTED, &[container(BITSET_BITS, &bits)]);
        Self { command: FEATURES_SET, attributes: vec![device(FEATURES_HEADER, index), wanted] }
    }
}

impl GenlFamily for Ask {
    fn family_name() -> &'static str {
        "ethtool"
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Ask {
    fn buffer_len(&self) -> usize {
        self.attributes.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.attributes.as_slice().emit(buffer);
    }
}

impl Ethtool {
    /// Opens a socket in the network namespace of the calling thread. Needs no privilege.
    ///
    /// # Errors
    /// The kernel's; `ENOENT` if it has no such messages.
    pub fn new() -> io::Result<Self> {
        let mut requests = Requests::new(Some(rustix::net::netlink::GENERIC))?;
        let mut family = None;
        let name = GenlCtrlAttrs::FamilyName(Ask::family_name().into());
        let ask = GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: vec![name] };
        requests.talk(NLM_F_ACK, GenlMessage::from_payload(ask), |answer| {
            family = attribute(answer, CTRL_ATTR_FAMILY_ID, parse_u16).map_err(malformed)?;
            Ok(())
        })?;
        let family = family.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
        Ok(Self { requests, family })
    }

    /// Opens a socket that speaks for `namespace`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn in_namespace(namespace: &Namespace) -> io::Result<Self> {
        namespace.run(Self::new)
    }

    /// The speed of a link in megabits a second; `None` if its driver doesn't know, as while there
    /// is no carrier. Of a tun or tap the kernel gives a constant (10 Mb/s, later 10 Gb/s),
    /// whatever it carries: that is no speed.
    pub fn speed(&mut self, link: &Link) -> Option<u32> {
        if link.kind.as_deref() == Some("tun") {
            return None;
        }
        let mut speed = None;
        // A driver without speeds answers with an error.
        let answered = self.talk(Ask::link_modes(link.index), |answer| {
            speed = speed_in(answer).map_err(malformed)?;
            Ok(())
        });
        answered.ok().and(speed)
    }

    /// The queues of a link; `None` if its driver doesn't report them.
    pub fn channels(&mut self, link: &Link) -> Option<Channels> {
        let mut channels = None;
        let answered = self.talk(Ask::channels(link.index), |answer| {
            channels = channels_in(answer).map_err(malformed)?;
            Ok(())
        });
        answered.ok().and(channels)
    }

    /// Switches offloads of a link on or off, by the names that `ethtool -k` shows. A feature that
    /// the driver has fixed stays as it is. Needs CAP_NET_ADMIN.
    ///
    /// # Errors
    /// The kernel's; `EOPNOTSUPP` if it knows no feature of this name.
    pub fn set_features(&mut self, link: &Link, names: &[&str], on: bool) -> io::Result<()> {
        self.talk(Ask::features(link.index, names, on), |_| Ok(()))
    }

    /// Sends a request and hands the answers to `answer`.
    pub(crate) fn talk(
        &mut self,
        ask: Ask,
        answer: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut ask = GenlMessage::from_payload(ask);
        ask.set_resolved_family_id(self.family);
        self.requests.talk(NLM_F_ACK, ask, answer)
    }
}

/// The speed in an answer.
fn speed_in(answer: &[u8]) -> Result<Option<u32>, DecodeError> {
    let speed = attribute(answer, LINKMODES_SPEED, parse_u32)?;
    Ok(speed.filter(|&speed| speed != UNKNOWN && speed != 0))
}

/// The queues in an answer. A combined one receives and sends.
fn channels_in(answer: &[u8]) -> Result<Option<Channels>, DecodeError> {
    let of = |kind| attribute(answer, kind, parse_u32).map(Option::unwrap_or_default);
    let (rx, tx, both) = (of(CHANNELS_RX)?, of(CHANNELS_TX)?, of(CHANNELS_COMBINED)?);
    let channels = Channels { rx: rx.saturating_add(both), tx: tx.saturating_add(both) };
    Ok((channels != Channels::default()).then_some(channels))
}

/// The attribute `kind` of a message of generic netlink, if it is there. All others are skipped,
/// where [`GenlCtrl`]'s parser refuses a message with one that it doesn't know.
pub(crate) fn attribute<T>(
    message: &[u8],
    kind: u16,
    parse: impl FnOnce(&[u8]) -> Result<T, DecodeError>,
) -> Result<Option<T>, DecodeError> {
    let header = GenlHeader::parse(message)?;
    for attribute in NlasIterator::new(&message[header.buffer_len()..]) {
        let attribute = attribute?;
        if attribute.kind() == kind {
            return parse(attribute.value()).map(Some);
        }
    }
    Ok(None)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An answer with an unknown attribute in front and a bit set behind the speed.
    fn answer(speed: u32) -> Vec<u8> {
        let of = |kind, value: &[u8]| DefaultNla::new(kind, value.to_vec());
        let all = [of(333, &[9]), of(LINKMODES_SPEED, &speed.to_ne_bytes()), of(6, &[1])];
        let mut bytes = vec![LINKMODES_GET, 1, 0, 0];
        bytes.resize(4 + all.as_slice().buffer_len(), 0);
        all.as_slice().emit(&mut bytes[4..]);
        bytes
    }

    #[suite::test]
    fn a_request_is_as_ethtool_has_it() {
        let ask = Ask::link_modes(0x0102_0304);
        let mut bytes = vec![0; ask.buffer_len()];
        ask.emit(&mut bytes);
        // ETHTOOL_A_LINKMODES_HEADER, nested, with ETHTOOL_A_HEADER_DEV_INDEX
        let expected = [12, 0x8001, 8, 1].map(u16::to_ne_bytes).concat();
        assert_eq!(bytes, [&expected[..], &0x0102_0304u32.to_ne_bytes()[..]].concat());
    }

    #[suite::test]
    fn a_speed_is_read_from_its_attribute() {
        let speed = |bytes: &[u8]| speed_in(bytes).ok();
        let whole = answer(2500);
        assert_eq!(speed(&whole), Some(Some(2500)));
        assert_eq!((speed(&answer(0)), speed(&answer(UNKNOWN))), (Some(None), Some(None)));
        assert_eq!(speed(&whole[..12]), Some(None), "no such attribute");
        assert_eq!((speed(&whole[..19]), speed(&whole[..3])), (None, None));
    }

    #[suite::test]
    fn queues_are_read_from_their_attributes() {
        let answer = |numbers: [u32; 3]| {
            let kinds = [CHANNELS_RX, CHANNELS_TX, CHANNELS_COMBINED];
            let all: Vec<_> = kinds
                .iter()
                .zip(numbers)
                .map(|(kind, n)| DefaultNla::new(*kind, n.to_ne_bytes().to_vec()))
                .collect();
            let mut bytes = vec![18, 1, 0, 0];
            bytes.resize(4 + all.as_slice().buffer_len(), 0);
            all.as_slice().emit(&mut bytes[4..]);
            channels_in(&bytes).ok().flatten()
        };
        assert_eq!(answer([2, 3, 0]), Some(Channels { rx: 2, tx: 3 }));
        assert_eq!(answer([1, 0, 4]), Some(Channels { rx: 5, tx: 4 }));
        assert_eq!(answer([0, 0, 0]), None);
        assert!(channels_in(&[0; 3]).is_err());
    }

    #[suite::test]
    fn a_link_without_a_speed_has_none() {
        let Some(mut ethtool) = testkit::or_skip("ask for speeds of links", Ethtool::new()) else {
            return;
        };
        let lo = crate::Rtnl::new().unwrap().link("lo").unwrap();
        assert_eq!(ethtool.speed(&lo), None);
        assert_eq!(ethtool.speed(&Link { index: u32::MAX, ..lo }), None);
    }

    proptest! {
        #[suite::test]
        fn broken_answers_dont_panic(at in 0usize..32, byte: u8, len in 0usize..32) {
            let mut bytes = answer(2500);
            if let Some(b) = bytes.get_mut(at) {
                *b = byte;
            }
            let _ = speed_in(&bytes[..len.min(bytes.len())]);
            let _ = channels_in(&bytes[..len.min(bytes.len())]);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Events as records of IPFIX: VPP's templates, after RFC 8158.

use super::{Change, Event, Lack, Names, Subscriber};
use crate::key::End;
use ipfix_export::template::iana::{
    DESTINATION_IP6, DESTINATION_PORT, INGRESS_VRF, MAX_BIBS, MAX_ENTRIES_PER_USER, MAX_SESSIONS,
    NAT_EVENT, NAT_POOL, NAT_QUOTA_EVENT, OBSERVATION_TIME, POST_NAPT_DESTINATION_PORT,
    POST_NAPT_SOURCE_PORT, POST_NAT_DESTINATION_IP4, POST_NAT_SOURCE_IP4, PROTOCOL, SOURCE_IP4,
    SOURCE_IP6, SOURCE_PORT,
};
use ipfix_export::{Element, Template};
use std::time::{SystemTime, UNIX_EPOCH};
use wire::IpProtocol;

const fn template(name: &'static str, elements: &'static [Element]) -> Template {
    Template { name, elements }
}

/// Positions in [`TEMPLATES`].
const SESSION44: usize = 0;
const ADDRESSES: usize = 1;
const SESSIONS: usize = 2;
const BINDINGS: usize = 3;
const BINDING64: usize = 4;
const SESSION64: usize = 5;
/// Behind them: [`OF_USER`].
const USER: usize = 6;

/// The templates that a collector gets at once.
pub const TEMPLATES: [Template; 6] = [
    template(
        "nat44-session",
        &[
            OBSERVATION_TIME,
            NAT_EVENT,
            SOURCE_IP4,
            POST_NAT_SOURCE_IP4,
            PROTOCOL,
            SOURCE_PORT,
            POST_NAPT_SOURCE_PORT,
            INGRESS_VRF,
        ],
    ),
    template("nat-addresses-exhausted", &[OBSERVATION_TIME, NAT_EVENT, NAT_POOL]),
    template("nat-max-sessions", &[OBSERVATION_TIME, NAT_EVENT, NAT_QUOTA_EVENT, MAX_SESSIONS]),
    template("nat-max-bibs", &[OBSERVATION_TIME, NAT_EVENT, NAT_QUOTA_EVENT, MAX_BIBS]),
    template(
        "nat64-bib",
        &[
            OBSERVATION_TIME,
            NAT_EVENT,
            SOURCE_IP6,
            POST_NAT_SOURCE_IP4,
            PROTOCOL,
            SOURCE_PORT,
            POST_NAPT_SOURCE_PORT,
            INGRESS_VRF,
        ],
    ),
    template(
        "nat64-session",
        &[
            OBSERVATION_TIME,
            NAT_EVENT,
            SOURCE_IP6,
            POST_NAT_SOURCE_IP4,
            PROTOCOL,
            SOURCE_PORT,
            POST_NAPT_SOURCE_PORT,
            DESTINATION_IP6,
            POST_NAT_DESTINATION_IP4,
            DESTINATION_PORT,
            POST_NAPT_DESTINATION_PORT,
            INGRESS_VRF,
        ],
    ),
];

/// The template of a user with too many sessions.
pub const OF_USER: Template = template(
    "nat-max-entries-per-user",
    &[OBSERVATION_TIME, NAT_EVENT, NAT_QUOTA_EVENT, MAX_ENTRIES_PER_USER, SOURCE_IP4],
);

/// Values of natEvent (IANA, RFC 8158 4.2).
const EXHAUSTED: u8 = 3;
const QUOTA: u8 = 13;

fn nat_event(change: Change, created: u8) -> u8 {
    match change {
        Change::Created => created,
        Change::Deleted => created + 1,
    }
}

/// A record that is being written; numbers are in network byte order.
struct Record(Vec<u8>);

impl Record {
    fn new(at: SystemTime, event: u8) -> Self {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self((since.as_millis() as u64).to_be_bytes().to_vec()).with(&[event])
    }

    fn with(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn word(self, word: u32) -> Self {
        self.with(&word.to_be_bytes())
    }

    fn port(self, port: u16) -> Self {
        self.with(&port.to_be_bytes())
    }

    /// A source that is translated: its address, the world's, protocol, its port, the world's.
    fn source(self, addr: &[u8], port: u16, outside: End, protocol: IpProtocol) -> Self {
        self.with(addr)
            .with(&outside.addr.octets())
            .with(&[protocol.0])
            .port(port)
            .port(outside.port)
    }
}

/// The position of an event's template, and its record; `None` for an event without one.
pub fn record(names: &mut Names<'_>, at: SystemTime, event: &Event) -> Option<(usize, Vec<u8>)> {
    let (template, record) = match *event {
        Event::Session44(change, of) => {
            let record = Record::new(at, nat_event(change, 4));
            let octets = of.inside.addr.octets();
            let record = record.source(&octets, of.inside.port, of.outside, of.protocol);
            (SESSION44, record.word(names.vrf(false, of.fib)))
        }
        Event::Port(change, of) => {
            let Subscriber::Table(fib) = of.subscriber else { return None };
            let record = Record::new(at, nat_event(change, 4));
            let octets = of.inside.addr.octets();
            let record = record.source(&octets, of.inside.port, of.outside, of.protocol);
            (SESSION44, record.word(names.vrf(false, fib)))
        }
        Event::Binding64(change, of) => {
            let (addr, port) = of.inside;
            let record = Record::new(at, nat_event(change, 10));
            let record = record.source(&addr.octets(), port, of.outside, of.protocol);
            (BINDING64, record.word(names.vrf(true, of.fib)))
        }
        Event::Session64(change, of, to) => {
            let (addr, port) = of.inside;
            let record = Record::new(at, nat_event(change, 6));
            let record = record
                .source(&addr.octets(), port, of.outside, of.protocol)
                .with(&names.compose(of.fib, to.addr).octets())
                .with(&to.addr.octets())
                .port(to.port)
                .port(to.port);
            (SESSION64, record.word(names.vrf(true, of.fib)))
        }
        Event::Lack(Lack::Addresses(pool)) => (ADDRESSES, Record::new(at, EXHAUSTED).word(pool)),
        Event::Lack(Lack::Sessions(most)) => (SESSIONS, Record::new(at, QUOTA).word(1).word(most)),
        Event::Lack(Lack::Bindings(most)) => (BINDINGS, Record::new(at, QUOTA).word(2).word(most)),
        Event::Lack(Lack::OfUser(most, user)) => {
            (USER, Record::new(at, QUOTA).word(3).word(most).with(&user.octets()))
        }
    };
    Some((template, record.0))
}

// SPDX-License-Identifier: Apache-2.0
//! Events as messages of syslog: the structured data of draft-ietf-behave-syslog-nat-logging, as
//! VPP has it.

use super::{Change, Event, Names, Subscriber};
use crate::key::End;
use std::fmt::Display;
use std::time::SystemTime;
use syslog::{Message, Severity, message::LOCAL0};
use wire::IpProtocol;

fn begin(at: SystemTime, kind: &str, element: &str) -> Message {
    Message::new((LOCAL0, Severity::Informational), at, "NAT", kind).element(element)
}

/// Adds a source that is translated.
fn source(
    message: Message,
    (version, addr, port): (&str, impl Display, u16),
    outside: End,
    protocol: IpProtocol,
) -> Message {
    message
        .param("IATYP", version)
        .param("ISADDR", addr)
        .param("ISPORT", port)
        .param("XATYP", "IPv4")
        .param("XSADDR", outside.addr)
        .param("XSPORT", outside.port)
        .param("PROTO", protocol.0)
}

/// The message of an event; `None` for an event without one.
pub fn message(names: &mut Names<'_>, at: SystemTime, event: &Event) -> Option<Message> {
    let kind = |change, created, deleted| match change {
        Change::Created => created,
        Change::Deleted => deleted,
    };
    Some(match *event {
        Event::Session44(change, of) => {
            // NAT44-ED gives users no numbers: VPP writes 0.
            let message = begin(at, kind(change, "SADD", "SDEL"), "nsess")
                .param("SSUBIX", 0)
                .param("SVLAN", names.vrf(false, of.fib));
            let inside = ("IPv4", of.inside.addr, of.inside.port);
            let mut message = source(message, inside, of.outside, of.protocol)
                .param("XDADDR", of.external.addr)
                .param("XDPORT", of.external.port);
            if let Some(end) = of.external_inside {
                message.add("IDADDR", end.addr);
                message.add("IDPORT", end.port);
            }
            message
        }
        Event::Port(change, of) => {
            let message = begin(at, kind(change, "APMADD", "APMDEL"), "napmap");
            let message = message.param("SSUBIX", of.index);
            let message = match of.subscriber {
                Subscriber::Table(fib) => message.param("SVLAN", names.vrf(false, fib)),
                Subscriber::B4(addr) => message.param("SV6ENC", addr),
            };
            let inside = ("IPv4", of.inside.addr, of.inside.port);
            source(message, inside, of.outside, of.protocol)
        }
        Event::Session64(change, of, to) => {
            let message = begin(at, kind(change, "SADD", "SDEL"), "nsess")
                .param("SVLAN", names.vrf(true, of.fib));
            let (addr, port) = of.inside;
            source(message, ("IPv6", addr, port), of.outside, of.protocol)
                .param("XDADDR", to.addr)
                .param("XDPORT", to.port)
        }
        Event::Binding64(..) | Event::Lack(_) => return None,
    })
}

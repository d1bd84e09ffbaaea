// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `syslog`.

use crate::message::Severity;
use crate::sender::{Sender, Syslog};
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::{Ip4Address, given};
use std::net::Ipv4Addr;

/// The module.
pub static API: Module<World> = Module::core("syslog", messages);

msg::messages! {
    /// The urgency of a message (RFC 5424 6.2.1).
    SyslogSeverity,
    /// Sends messages to a collector.
    SyslogSetSender,
    /// Requests the settings of the sender.
    SyslogGetSender,
    /// The settings; zeros without a collector.
    SyslogGetSenderReply,
    /// Sends only messages at least as urgent as this.
    SyslogSetFilter,
    /// Requests the least urgent severity that is sent.
    SyslogGetFilter,
    /// That severity.
    SyslogGetFilterReply,
}

fn messages(m: &mut Messages<World>) {
    m.call(set_sender);
    m.call(|w, _: SyslogGetSender| Ok(get_sender(w)));
    m.call(|w, r: SyslogSetFilter| {
        w.get::<Syslog>().set_filter(w, severity(r.severity));
        Ok(())
    });
    m.call(|w, _: SyslogGetFilter| {
        Ok(SyslogGetFilterReply { severity: NUMBERS[w.get::<Syslog>().filter() as usize] })
    });
}

const NUMBERS: [SyslogSeverity; 8] = {
    use SyslogSeverity::*;
    [Emerg, Alert, Crit, Err, Warn, Notice, Info, Dbg]
};

fn severity(of: SyslogSeverity) -> Severity {
    let at = NUMBERS.iter().position(|number| *number == of);
    at.map_or(Severity::Debug, |at| Severity::ALL[at])
}

fn set_sender(w: &World, r: SyslogSetSender) -> Result<()> {
    let sender = Sender {
        collector: r.collector_address.0.into(),
        port: r.collector_port,
        source: r.src_address.0.into(),
        vrf: given(r.vrf_id),
        size: r.max_msg_size,
    };
    w.get::<Syslog>().set_sender(w, Some(sender))
}

fn get_sender(w: &World) -> SyslogGetSenderReply {
    let sender = w.get::<Syslog>().sender();
    let addr = |of: fn(&Sender) -> Ipv4Addr| {
        Ip4Address(sender.as_ref().map_or(Ipv4Addr::UNSPECIFIED, of).octets())
    };
    SyslogGetSenderReply {
        src_address: addr(|sender| sender.source),
        collector_address: addr(|sender| sender.collector),
        collector_port: sender.map_or(0, |sender| sender.port),
        vrf_id: sender.and_then(|sender| sender.vrf).unwrap_or(u32::MAX),
        max_msg_size: sender.map_or(0, |sender| sender.size),
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Sessions as commands show them.

use super::control;
use crate::control::{Control, Row};
use crate::key::{End, Key, protocol_name};
use crate::session::{INWARD, OUTWARD, SessionFlags, translated};
use crate::settings::{TICKS, Timeout};
use cli::{Matches, Output, Result, Writer};
use graph::World;
use serde_json::{Value, json};
use std::fmt::Write;
use std::iter;
use std::net::Ipv4Addr;
use wire::IpProtocol;

/// Filters of sessions: by direction, of what they match.
#[derive(Clone, Copy)]
enum Filter {
    From(Ipv4Addr),
    FromPort(u16),
    To(Ipv4Addr),
    ToPort(u16),
    Protocol(IpProtocol),
}

impl Filter {
    fn read(m: &Matches) -> Result<(usize, Self)> {
        let direction = if m.flag("o2i") { INWARD } else { OUTWARD };
        let filter = if let Some(addr) = m.opt("saddr")? {
            Self::From(addr)
        } else if let Some(port) = m.opt("sport")? {
            Self::FromPort(port)
        } else if let Some(addr) = m.opt("daddr")? {
            Self::To(addr)
        } else if let Some(port) = m.opt("dport")? {
            Self::ToPort(port)
        } else {
            Self::Protocol(match m.str("proto") {
                "tcp" => IpProtocol::TCP,
                "udp" => IpProtocol::UDP,
                _ => IpProtocol::ICMP,
            })
        };
        Ok((direction, filter))
    }

    fn matches(self, key: &Key) -> bool {
        match self {
            Self::From(addr) => key.from().addr == addr,
            Self::FromPort(port) => key.from().port == port,
            Self::To(addr) => key.to().addr == addr,
            Self::ToPort(port) => key.to().port == port,
            Self::Protocol(protocol) => key.protocol() == protocol,
        }
    }
}

fn flow_text(text: &mut String, name: &str, key: &Key, new: (End, End), fib: u32) {
    let (from, to) = (key.from(), key.to());
    let _ = write!(
        text,
        "       {name} flow: match: saddr {} sport {} daddr {} dport {} proto {} fib_idx {} rewrite:",
        from.addr,
        from.port,
        to.addr,
        to.port,
        protocol_name(key.protocol()),
        key.fib(),
    );
    if new.0.addr != from.addr {
        let _ = write!(text, " saddr {}", new.0.addr);
    }
    if new.0.port != from.port {
        let _ = write!(text, " sport {}", new.0.port);
    }
    if new.1.addr != to.addr {
        let _ = write!(text, " daddr {}", new.1.addr);
    }
    if new.1.port != to.port {
        let _ = write!(text, " dport {}", new.1.port);
    }
    if fib != key.fib() {
        let _ = write!(text, " txfib {fib}");
    }
    text.push('\n');
}

fn session_text(row: &Row) -> String {
    let (ends, session) = (row.ends(), &row.session);
    let protocol = protocol_name(row.protocol());
    let word = if row.protocol() == IpProtocol::ICMP { "id" } else { "port" };
    let [out, back] = &row.keys;
    let mut text = String::new();
    let line = |name: &str, end: End, fib: u32| {
        format!("{name} {} proto {protocol} {word} {} fib {fib}\n", end.addr, end.port)
    };
    text += &line("  i2o", ends.inside, out.fib());
    text += &line("    o2i", ends.outside, back.fib());
    if session.flags.contains(SessionFlags::TWICE) {
        let (external, inside) = (ends.external, ends.external_inside);
        let _ = writeln!(text, "       external host o2i {external} i2o {inside}");
    } else {
        let _ = writeln!(text, "       external host {}", ends.external);
    }
    let of = |direction: usize| match session.is_bypass() {
        true => (row.keys[direction].from(), row.keys[direction].to()),
        false => translated(&row.keys, direction),
    };
    flow_text(&mut text, "i2o", out, of(OUTWARD), back.fib());
    flow_text(&mut text, "o2i", back, of(INWARD), out.fib());
    let seconds = |ticks: u64| ticks as f64 / f64::from(TICKS);
    let _ = writeln!(text, "       index {}", row.at);
    let _ = writeln!(text, "       last heard {:.2}", seconds(row.last));
    let _ = match row.is_timed_out() {
        true => writeln!(text, "       timed out"),
        false => writeln!(text, "       timeout in {:.2}", seconds(row.left)),
    };
    let (packets, bytes) = (session.packets, session.bytes);
    let _ = writeln!(text, "       total pkts {packets}, total bytes {bytes}");
    let is_static = session.flags.contains(SessionFlags::STATIC);
    let _ = writeln!(text, "       {} translation", if is_static { "static" } else { "dynamic" });
    for (flag, word) in [
        (SessionFlags::BYPASS, "forwarding-bypass"),
        (SessionFlags::BALANCED, "load-balancing"),
        (SessionFlags::TWICE, "twice-nat"),
        (SessionFlags::HAIRPIN, "hairpinning"),
    ] {
        if session.flags.contains(flag) {
            let _ = writeln!(text, "       {word}");
        }
    }
    text
}

fn end_value(end: End) -> Value {
    json!({ "address": end.addr.to_string(), "port": end.port })
}

fn session_value(row: &Row, thread: usize) -> Value {
    let (ends, session) = (row.ends(), &row.session);
    let has = |flag| session.flags.contains(flag);
    json!({
        "thread": thread,
        "index": row.at,
        "protocol": row.protocol().0,
        "inside": end_value(ends.inside),
        "outside": end_value(ends.outside),
        "external": end_value(ends.external),
        "external_inside": end_value(ends.external_inside),
        "inside_fib": row.keys[0].fib(),
        "outside_fib": row.keys[1].fib(),
        "packets": session.packets,
        "bytes": session.bytes,
        "seconds_left": row.left / u64::from(TICKS),
        "timed_out": row.is_timed_out(),
        "static": has(SessionFlags::STATIC),
        "forwarding_bypass": has(SessionFlags::BYPASS),
        "load_balancing": has(SessionFlags::BALANCED),
        "twice_nat": has(SessionFlags::TWICE),
        "hairpinning": has(SessionFlags::HAIRPIN),
    })
}

/// A part of the list of sessions.
enum Part {
    /// The first line.
    Title,
    /// A thread, with the number of its sessions.
    Thread(usize, usize),
    /// A session of a thread.
    Session(usize, Row),
}

/// `show nat44 sessions`.
pub fn sessions(w: &World, m: &Matches) -> Result<Output> {
    let filters = m.groups("filter").map(|of| Filter::read(&of)).collect::<Result<Vec<_>>>()?;
    let wanted = move |keys: &[Key; 2]| {
        filters.iter().all(|(direction, filter)| filter.matches(&keys[*direction]))
    };
    let names: Vec<_> = w.thread_list().into_iter().map(|thread| thread.name).collect();
    Ok(Control::sessions(w, wanted).then(move |threads| {
        let of_thread = |(thread, rows): (usize, Vec<Row>)| {
            let head = Part::Thread(thread, rows.len());
            let rows = rows.into_iter().map(move |row| Part::Session(thread, row));
            iter::once(head).chain(rows)
        };
        let parts = threads.into_iter().enumerate().flat_map(of_thread);
        let parts = iter::once(Part::Title).chain(parts);
        Ok(Output::list(parts, move |_: &World, part: Part, out: &mut Writer| {
            match part {
                Part::Title => out.text(|text| *text += "NAT44 ED sessions:\n"),
                Part::Thread(thread, n) => out.text(|text| {
                    let name = names.get(thread).map_or("", |name| name);
                    let _ =
                        writeln!(text, "-------- thread {thread} {name}: {n} sessions --------");
                }),
                Part::Session(thread, row) => {
                    out.text(|text| *text += &session_text(&row));
                    out.value(|| session_value(&row, thread));
                }
            }
            Ok(())
        }))
    }))
}

/// Numbers of sessions, by [`Kind`].
type Counts = [u64; 6];

/// The kinds that are counted.
#[derive(Clone, Copy)]
enum Kind {
    TimedOut,
    TcpEstablished,
    TcpTransitory,
    Udp,
    Icmp,
    Other,
}

fn count(row: &Row, counts: &mut Counts) {
    counts[Kind::TimedOut as usize] += u64::from(row.is_timed_out());
    let kind = match (row.protocol(), row.timeout()) {
        (_, Timeout::TcpEstablished) => Kind::TcpEstablished,
        (_, Timeout::TcpTransitory) => Kind::TcpTransitory,
        (IpProtocol::UDP, _) => Kind::Udp,
        (_, Timeout::Icmp) => Kind::Icmp,
        _ => Kind::Other,
    };
    counts[kind as usize] += 1;
}

/// `show nat44 summary`.
pub fn summary(w: &World, _: &Matches) -> Result<Output> {
    let (limits, most) = control(w).read(|state| {
        let most = state.enabled.map_or(0, |enabled| enabled.sessions);
        (state.limits.clone(), most)
    });
    Ok(Control::visit(w, count).then(move |threads| {
        let of = |kind: Kind| threads.iter().map(|counts| counts[kind as usize]).sum::<u64>();
        let [established, transitory] = [Kind::TcpEstablished, Kind::TcpTransitory].map(of);
        let [timed_out, udp, icmp, other] =
            [Kind::TimedOut, Kind::Udp, Kind::Icmp, Kind::Other].map(of);
        let tcp = established + transitory;
        let total = tcp + udp + icmp + other;
        let mut text = format!("max translations per thread: {most} fib 0\n");
        for (vrf, limit) in &limits {
            let _ = writeln!(text, "max translations per thread: {limit} fib {vrf}");
        }
        let _ = writeln!(text, "total sessions: {total} (timed out: {timed_out})");
        let _ = writeln!(text, "total tcp sessions: {tcp}");
        let _ = writeln!(text, "total tcp established sessions: {established}");
        let _ = writeln!(text, "total tcp transitory sessions: {transitory}");
        let _ = writeln!(text, "total udp sessions: {udp}");
        let _ = writeln!(text, "total icmp sessions: {icmp}");
        let _ = writeln!(text, "total other sessions: {other}");
        let value = json!({
            "sessions_per_thread": most,
            "limits": limits,
            "total": total,
            "timed_out": timed_out,
            "tcp_established": established,
            "tcp_transitory": transitory,
            "udp": udp,
            "icmp": icmp,
            "other": other,
        });
        Ok(Output::both(text, value))
    }))
}

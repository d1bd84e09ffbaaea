// SPDX-License-Identifier: Apache-2.0
//! Words that the commands of all kinds have.

use crate::model::{Flags, HeaderMarking};
use cli::{Error, Matches, Output, Result, Writer, quote};
use graph::{SwIfIndex, World};
use msg::retval;
use net::Interfaces;
use std::fmt::Write;
use std::net::IpAddr;

const WORDS: [(&str, Flags); 8] = [
    ("encap-copy-df", Flags::COPY_DF),
    ("encap-set-df", Flags::SET_DF),
    ("encap-copy-dscp", Flags::COPY_DSCP),
    ("encap-copy-ecn", Flags::COPY_ECN),
    ("decap-copy-ecn", Flags::DECAP_COPY_ECN),
    ("encap-inner-hash", Flags::INNER_HASH),
    ("encap-copy-hop-limit", Flags::COPY_HOP_LIMIT),
    ("encap-copy-flow-label", Flags::COPY_FLOW_LABEL),
];

/// The usage of the words that [`parse`] reads, to be put into a command's usage by `concat!`.
#[macro_export]
macro_rules! marks_usage {
    () => {
        "[encap-copy-df] [encap-set-df] [encap-copy-dscp] [encap-copy-ecn] [decap-copy-ecn] [encap-inner-hash] \
         [encap-copy-hop-limit] [encap-copy-flow-label] [dscp <dscp:u8>] [hop-limit <hoplimit:u8>] [track-mtu]"
    };
}

/// Reads what an operator chooses of outer headers: `encap-copy-df`, …, `dscp <dscp:u8>`,
/// `hop-limit <hoplimit:u8>`, `track-mtu`.
///
/// # Errors
/// A DSCP above 63.
pub fn parse(m: &Matches) -> Result<HeaderMarking> {
    let dscp: u8 = m.opt("dscp")?.unwrap_or(0);
    if dscp > 63 {
        return Err(Error::parse(format!("a DSCP is at most 63, not {dscp}")).at(m.span("dscp")));
    }
    let set = WORDS.iter().filter(|(word, _)| m.flag(word));
    let flags = set.fold(Flags::default(), |all, (_, flag)| all | *flag);
    let hop_limit = m.opt("hoplimit")?.unwrap_or(0);
    Ok(HeaderMarking { flags, dscp, hop_limit, track_mtu: m.flag("track-mtu") })
}

/// Reads the other end: `<WORD:ip>`, or `group <group:ip> <interface:interface>`.
///
/// # Errors
/// A missing address; an interface that isn't there (−2).
pub fn other_end(w: &World, m: &Matches, word: &str) -> Result<(IpAddr, Option<SwIfIndex>)> {
    if !m.has("group") {
        return Ok((m.req(word)?, None));
    }
    let by = w.get::<Interfaces>().find(m.str("interface"));
    Ok((m.req("group")?, Some(by.map_err(|e| e.at(m.span("interface")))?)))
}

/// The words that [`other_end`] reads, with a space in front.
pub fn describe_other_end(
    world: &World,
    word: &str,
    remote: IpAddr,
    group_interface: Option<SwIfIndex>,
) -> String {
    let Some(by) = group_interface else { return format!(" {word} {remote}") };
    // Interfaces are made before they are renamed.
    let made = world.get::<Interfaces>().get(by).map(|interface| interface.original.name);
    format!(" group {remote} {}", quote(&made.unwrap_or_default()))
}

/// Reads `vni <vni:u32>`.
///
/// # Errors
/// As [`check_vni`].
pub fn vni(m: &Matches) -> Result<u32> {
    check_vni(m.req("vni")?).map_err(|e| e.retval(retval::UNSPECIFIED).at(m.span("vni")))
}

/// Checks a network identifier, of commands and of messages (RFC 7348 5, RFC 8926 3.4: 24 bits; 0
/// is one of them).
///
/// # Errors
/// More than 24 bits.
pub fn check_vni(vni: u32) -> Result<u32> {
    if vni >> 24 != 0 {
        let why = format!("a network identifier has 24 bits, up to 16777215: {vni}");
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    Ok(vni)
}

/// Tunnels, each written by `line`. As text, no tunnel is `none`.
pub fn list(
    all: Vec<SwIfIndex>,
    none: &'static str,
    line: fn(&World, SwIfIndex, &mut Writer),
) -> Output {
    let nothing = all.is_empty().then_some(None);
    let rows = all.into_iter().map(Some).chain(nothing);
    Output::list(
        rows.collect::<Vec<_>>(),
        move |w: &World, row: Option<SwIfIndex>, out: &mut Writer| {
            match row {
                Some(sw_if) => line(w, sw_if, out),
                None => out.text(|text| writeln!(text, "{none}")),
            }
            Ok(())
        },
    )
}

/// The words of what is copied.
pub fn flags(marks: &HeaderMarking) -> Vec<&'static str> {
    WORDS.iter().filter(|(_, flag)| marks.flags.contains(*flag)).map(|(word, _)| *word).collect()
}

/// Writes the arguments that [`parse`] reads, each with a space in front.
pub fn describe(marks: &HeaderMarking) -> String {
    let mut text: String = flags(marks).iter().map(|word| format!(" {word}")).collect();
    if marks.dscp != 0 {
        text += &format!(" dscp {}", marks.dscp);
    }
    if marks.hop_limit != 0 {
        text += &format!(" hop-limit {}", marks.hop_limit);
    }
    if marks.track_mtu {
        text += " track-mtu";
    }
    text
}

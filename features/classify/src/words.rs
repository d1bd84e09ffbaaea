// SPDX-License-Identifier: Apache-2.0
//! Masks and matches in commands: fields of headers, or bytes in hexadecimal.
//!
//! Bytes begin at the Ethernet header, which has tags if a tag is named; the IP header follows,
//! then that of the upper layer.

use crate::key::{MAX_VECTORS, VECTOR};
use cli::{Error, FromArg, Matches, Result, retval};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::MacAddr;

/// A mask in a usage.
macro_rules! mask_usage {
    () => {
        "mask {hex <mask:word> | {l2 {src|dst|proto|tag1|tag2|cos1|cos2|ignore-tag1|ignore-tag2|dot1q|dot1ad}... \
         | l3 {ip4 {src|dst|proto|version|hdr_length|src_address|dst_address|tos|length|fragment_id|ttl|protocol|checksum}... \
         | ip6 {src|dst|proto|version|traffic-class|flow-label|src_address|dst_address|payload_length|hop_limit|protocol}...} \
         | l4 {tcp|udp|src_port|dst_port}...}...}"
    };
}
/// A match in a usage.
macro_rules! match_usage {
    () => {
        "match {hex <match-hex:word> | {l2 {src <l2-src:mac>|dst <l2-dst:mac>|proto <l2-proto:word>|tag1 <vlan1:u16>|tag2 <vlan2:u16>\
         |cos1 <pcp1:0-7>|cos2 <pcp2:0-7>|ignore-tag1|ignore-tag2|dot1q|dot1ad}... \
         | l3 {ip4 {src <src4:ip4>|dst <dst4:ip4>|proto <protocol:word>|version <version:0-15>|hdr_length <hdr-length:0-15>\
         |src_address <src4:ip4>|dst_address <dst4:ip4>|tos <tos:u8>|length <length:u16>|fragment_id <fragment-id:u16>|ttl <ttl:u8>\
         |protocol <protocol:word>|checksum <checksum:u16>}... \
         | ip6 {src <src6:ip6>|dst <dst6:ip6>|proto <protocol:word>|version <version:0-15>|traffic-class <traffic-class:u8>\
         |flow-label <flow-label:u32>|src_address <src6:ip6>|dst_address <dst6:ip6>|payload_length <length:u16>|hop_limit <ttl:u8>\
         |protocol <protocol:word>}...} \
         | l4 {tcp|udp|src_port <src-port:u16>|dst_port <dst-port:u16>}...}...}"
    };
}
pub(crate) use {mask_usage, match_usage};

/// A mask: vectors that are left out in front, and the bytes behind them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mask {
    /// Vectors that are left out.
    pub skip: u32,
    /// A multiple of 16 bytes.
    pub bytes: Vec<u8>,
}

impl Mask {
    /// Of bytes from where packets begin: whole vectors of zeros in front are left out, and those
    /// at the end.
    ///
    /// # Errors
    /// No bit is set, or the vectors from the first to the last bit are more than a table compares
    /// (−7).
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let first = bytes.iter().position(|byte| *byte != 0);
        let last = bytes.iter().rposition(|byte| *byte != 0);
        let (Some(first), Some(last)) = (first, last) else {
            return Err(Error::parse("the mask has no bit").retval(retval::INVALID_VALUE));
        };
        Self::within(bytes, (first / VECTOR) as u32, last / VECTOR - first / VECTOR + 1)
    }

    /// The same with so many vectors left out and so many compared.
    ///
    /// # Errors
    /// Bits of the mask lie outside of these (−7).
    pub fn within(bytes: &[u8], skip: u32, vectors: usize) -> Result<Self> {
        let (start, outside) =
            (skip as usize * VECTOR, |part: &[u8]| part.iter().any(|byte| *byte != 0));
        let end = start.saturating_add(vectors.saturating_mul(VECTOR));
        if vectors == 0 || vectors > MAX_VECTORS {
            let why = format!(
                "a table compares 1 to {MAX_VECTORS} vectors of {VECTOR} bytes, not {vectors}"
            );
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        if outside(&bytes[..start.min(bytes.len())]) || outside(&bytes[end.min(bytes.len())..]) {
            let why = format!(
                "the mask has bits outside of {vectors} vectors behind {skip} that are left out"
            );
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        let mut own = vec![0; vectors * VECTOR];
        let given = bytes.get(start..).unwrap_or_default();
        let n = given.len().min(own.len());
        own[..n].copy_from_slice(&given[..n]);
        Ok(Self { skip, bytes: own })
    }
}

/// Bytes in hexadecimal, two digits each.
///
/// # Errors
/// Anything else, or more than a packet's.
pub fn hex(text: &str) -> std::result::Result<Vec<u8>, String> {
    const MAX: usize = 4096;
    if text.len() > 2 * MAX {
        return Err(format!("more than {MAX} bytes"));
    }
    let digit = |c: u8| char::from(c).to_digit(16);
    let byte = |pair: &[u8]| {
        Some((digit(pair[0])? << 4 | pair.get(1).map_or(Some(0), |c| digit(*c))?) as u8)
    };
    let bytes = text.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>();
    bytes.filter(|bytes| !bytes.is_empty()).ok_or_else(|| format!("`{text}' isn't hexadecimal"))
}

/// Bytes as [`hex`] reads them.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of headers that fields are written to.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    /// Writes bytes at an offset.
    fn put(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        self.0[at..end].copy_from_slice(bytes);
    }

    /// Adds the bits of a byte.
    fn or(&mut self, at: usize, bits: u8) {
        let old = self.0.get(at).copied().unwrap_or(0);
        self.put(at, &[old | bits]);
    }
}

/// The value of a field: all bits, or what the line says.
trait Values {
    fn value<T: FromArg, const N: usize>(
        &self,
        m: &Matches<'_>,
        words: &[&str],
        argument: &str,
        bytes: impl Fn(T) -> [u8; N],
    ) -> Result<Option<[u8; N]>>;
}

/// Words of a mask: without values.
struct MaskWords;
/// Words of a match: with values.
struct MatchWords;

impl Values for MaskWords {
    fn value<T: FromArg, const N: usize>(
        &self,
        m: &Matches<'_>,
        words: &[&str],
        _: &str,
        _: impl Fn(T) -> [u8; N],
    ) -> Result<Option<[u8; N]>> {
        Ok(words.iter().any(|word| m.flag(word)).then_some([0xff; N]))
    }
}

impl Values for MatchWords {
    fn value<T: FromArg, const N: usize>(
        &self,
        m: &Matches<'_>,
        _: &[&str],
        argument: &str,
        bytes: impl Fn(T) -> [u8; N],
    ) -> Result<Option<[u8; N]>> {
        Ok(m.opt::<T>(argument)?.map(bytes))
    }
}

/// A protocol by name or number.
struct Protocol(u8);

impl FromArg for Protocol {
    fn from_arg(arg: cli::Arg<'_>) -> std::result::Result<Self, String> {
        const NAMES: [(&str, u8); 13] = [
            ("icmp", 1),
            ("igmp", 2),
            ("tcp", 6),
            ("udp", 17),
            ("gre", 47),
            ("esp", 50),
            ("ah", 51),
            ("icmp6", 58),
            ("ospf", 89),
            ("ipip", 94),
            ("pim", 103),
            ("vrrp", 112),
            ("sctp", 132),
        ];
        let name = arg.text.to_ascii_lowercase();
        if let Some((_, number)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(Self(*number));
        }
        u8::from_arg(cli::Arg { value: cli::Value::Text, ..arg }).map(Self)
    }
}

/// An Ethernet type by name or number.
struct Type(u16);

impl FromArg for Type {
    fn from_arg(arg: cli::Arg<'_>) -> std::result::Result<Self, String> {
        const NAMES: [(&str, u16); 6] = [
            ("ip4", 0x0800),
            ("arp", 0x0806),
            ("vlan", 0x8100),
            ("ip6", 0x86dd),
            ("mpls", 0x8847),
            ("lldp", 0x88cc),
        ];
        let name = arg.text.to_ascii_lowercase();
        if let Some((_, number)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(Self(*number));
        }
        u16::from_arg(cli::Arg { value: cli::Value::Text, ..arg }).map(Self)
    }
}

/// Length of the Ethernet header with the tags that are named.
fn l2_len(m: &Matches<'_>) -> usize {
    let any = |words: &[&str]| words.iter().any(|word| m.flag(word));
    match () {
        () if any(&["tag2", "cos2", "ignore-tag2", "dot1ad"]) => 22,
        () if any(&["tag1", "cos1", "ignore-tag1", "dot1q"]) => 18,
        () => 14,
    }
}

fn l2(v: &impl Values, m: &Matches<'_>, out: &mut Bytes) -> Result<usize> {
    let len = l2_len(m);
    let put = |out: &mut Bytes, at, bytes: Option<[u8; 6]>| {
        bytes.into_iter().for_each(|b| out.put(at, &b))
    };
    put(out, 0, v.value(m, &["dst"], "l2-dst", |mac: MacAddr| mac.octets())?);
    put(out, 6, v.value(m, &["src"], "l2-src", |mac: MacAddr| mac.octets())?);
    if let Some(kind) = v.value(m, &["proto"], "l2-proto", |kind: Type| kind.0.to_be_bytes())? {
        out.put(len - 2, &kind);
    }
    for (tag, vlan, cos, pcp, at) in
        [("tag1", "vlan1", "cos1", "pcp1", 14), ("tag2", "vlan2", "cos2", "pcp2", 18)]
    {
        if let Some([high, low]) = v.value(m, &[tag], vlan, |vlan: u16| vlan.to_be_bytes())? {
            out.or(at, high & 0x0f);
            out.or(at + 1, low);
        }
        if let Some([cos]) = v.value(m, &[cos], pcp, |pcp: u8| [pcp << 5])? {
            out.or(at, cos & 0xe0);
        }
    }
    Ok(len)
}

fn ip4(v: &impl Values, m: &Matches<'_>, at: usize, out: &mut Bytes) -> Result<()> {
    let half = |bytes: Option<[u8; 1]>, mask: u8| bytes.map_or(0, |[byte]| byte & mask);
    let version = half(v.value(m, &["version"], "version", |n: u8| [n << 4])?, 0xf0);
    let length = half(v.value(m, &["hdr_length"], "hdr-length", |n: u8| [n])?, 0x0f);
    out.or(at, version | length);
    for (word, name, field) in [("tos", "tos", 1), ("ttl", "ttl", 8)] {
        v.value(m, &[word], name, |n: u8| [n])?.into_iter().for_each(|b| out.put(at + field, &b));
    }
    let protocol = v.value(m, &["proto", "protocol"], "protocol", |n: Protocol| [n.0])?;
    protocol.into_iter().for_each(|b| out.put(at + 9, &b));
    for (word, name, field) in
        [("length", "length", 2), ("fragment_id", "fragment-id", 4), ("checksum", "checksum", 10)]
    {
        v.value(m, &[word], name, |n: u16| n.to_be_bytes())?
            .into_iter()
            .for_each(|b| out.put(at + field, &b));
    }
    for (words, name, field) in
        [(["src", "src_address"], "src4", 12), (["dst", "dst_address"], "dst4", 16)]
    {
        let address = v.value(m, &words, name, |a: Ipv4Addr| a.octets())?;
        address.into_iter().for_each(|b| out.put(at + field, &b));
    }
    Ok(())
}

fn ip6(v: &impl Values, m: &Matches<'_>, at: usize, out: &mut Bytes) -> Result<()> {
    let word = |bytes: Option<[u8; 4]>, mask: u32| bytes.map_or(0, u32::from_be_bytes) & mask;
    let version = word(
        v.value(m, &["version"], "version", |n: u8| (u32::from(n) << 28).to_be_bytes())?,
        0xf000_0000,
    );
    let class = v.value(m, &["traffic-class"], "traffic-class", |n: u8| {
        (u32::from(n) << 20).to_be_bytes()
    })?;
    let label = v.value(m, &["flow-label"], "flow-label", u32::to_be_bytes)?;
    let first = version | word(class, 0x0ff0_0000) | word(label, 0x000f_ffff);
    out.put(at, &first.to_be_bytes());
    let length = v.value(m, &["payload_length"], "length", |n: u16| n.to_be_bytes())?;
    length.into_iter().for_each(|b| out.put(at + 4, &b));
    let protocol = v.value(m, &["proto", "protocol"], "protocol", |n: Protocol| [n.0])?;
    protocol.into_iter().for_each(|b| out.put(at + 6, &b));
    v.value(m, &["hop_limit"], "ttl", |n: u8| [n])?.into_iter().for_each(|b| out.put(at + 7, &b));
    for (words, name, field) in
        [(["src", "src_address"], "src6", 8), (["dst", "dst_address"], "dst6", 24)]
    {
        let address = v.value(m, &words, name, |a: Ipv6Addr| a.octets())?;
        address.into_iter().for_each(|b| out.put(at + field, &b));
    }
    Ok(())
}

/// The bytes of the layers that the groups of a line name.
fn layers(v: &impl Values, groups: &[Matches<'_>]) -> Result<Vec<u8>> {
    let mut out = Bytes::default();
    let find = |layer: &str| groups.iter().find(|group| group.flag(layer));
    let at = find("l2").map_or(Ok(14), |m| l2(v, m, &mut out))?;
    let upper = match find("l3") {
        None => at + 20,
        Some(m) if m.flag("ip6") => {
            ip6(v, m, at, &mut out)?;
            at + 40
        }
        Some(m) => {
            ip4(v, m, at, &mut out)?;
            at + 20
        }
    };
    if let Some(m) = find("l4") {
        for (word, name, field) in [("src_port", "src-port", 0), ("dst_port", "dst-port", 2)] {
            let port = v.value(m, &[word], name, |n: u16| n.to_be_bytes())?;
            port.into_iter().for_each(|b| out.put(upper + field, &b));
        }
    }
    Ok(out.0)
}

/// Groups of the mask of a line, then those of its match, each in a list of its own.
fn groups<'a>(m: &Matches<'a>) -> [Vec<Matches<'a>>; 2] {
    let (mask, matched) = (m.span("mask"), m.span("match"));
    let start = |group: &Matches<'_>| {
        ["l2", "l3", "l4"]
            .into_iter()
            .filter_map(|layer| group.span(layer))
            .map(|span| span.start)
            .min()
    };
    let mut all = [Vec::new(), Vec::new()];
    for group in m.turns() {
        let Some(at) = start(&group) else { continue };
        let behind = |span: &Option<std::ops::Range<usize>>| {
            span.as_ref().map(|span| span.start).filter(|word| *word < at)
        };
        // The word that stands last in front of it.
        let is_match = behind(&matched) > behind(&mask);
        all[usize::from(is_match)].push(group);
    }
    all
}

/// The bytes of the mask in a line, from where packets begin; nothing if there is none.
pub fn mask(m: &Matches<'_>) -> Result<Option<Vec<u8>>> {
    if m.has("mask") && !m.str("mask").is_empty() {
        return hex(m.str("mask")).map(Some).map_err(|why| Error::parse(why).at(m.span("mask")));
    }
    let [groups, _] = groups(m);
    if groups.is_empty() { Ok(None) } else { layers(&MaskWords, &groups).map(Some) }
}

/// The bytes of the match in a line, from where packets begin; nothing if there is none.
pub fn matched(m: &Matches<'_>) -> Result<Option<Vec<u8>>> {
    if m.has("match-hex") {
        return hex(m.str("match-hex"))
            .map(Some)
            .map_err(|why| Error::parse(why).at(m.span("match-hex")));
    }
    let [_, groups] = groups(m);
    if groups.is_empty() { Ok(None) } else { layers(&MatchWords, &groups).map(Some) }
}

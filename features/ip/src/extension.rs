// SPDX-License-Identifier: Apache-2.0
//! Extension headers of IPv6 (RFC 8200 4), as routers and destinations look at them.

use crate::family::{Refusal, Upper};
use wire::icmp::code6;
use wire::{ExtError, ExtHeader, ExtHeaders, Header, Ip6Fragment, Ip6Options, IpProtocol};

/// Options of one header that are processed; a packet with more is dropped (RFC 8504 5.3).
const MOST: usize = 16;

/// Requests in the options of a header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct HopOptions {
    /// Value of the router alert option, which asks routers to examine the packet (RFC 2711).
    pub router_alert: Option<u16>,
}

/// Processes the options of a hop-by-hop or destination header.
///
/// # Errors
/// The action for an unknown option by its type (RFC 8200 4.2), or the offset of an error in the
/// header.
pub fn options(header: &ExtHeader<'_>, to_group: bool) -> Result<HopOptions, Refusal> {
    let mut asked = HopOptions::default();
    let problem = |code, at: usize| Err(Refusal::Problem(code, (header.offset + at) as u32));
    for (i, option) in Ip6Options::new(header.bytes).enumerate() {
        let option = match option {
            Ok(option) => option,
            Err(e) => return problem(code6::ERRONEOUS_FIELD, e.offset + 1),
        };
        if i == MOST {
            return Err(Refusal::TooMany);
        }
        match (option.kind, option.kind >> 6) {
            (Ip6Options::ROUTER_ALERT, _) => match option.data {
                [high, low] => asked.router_alert = Some(u16::from_be_bytes([*high, *low])),
                _ => return problem(code6::ERRONEOUS_FIELD, option.offset + 1),
            },
            (_, 0) => {}
            (_, 1) => return Err(Refusal::Discard),
            (_, 3) if to_group => return Err(Refusal::Discard),
            _ => return problem(code6::UNKNOWN_OPTION, option.offset),
        }
    }
    Ok(asked)
}

/// Walks the headers of a packet for us to its upper layer.
///
/// # Errors
/// The reason why the packet is refused.
#[inline(never)]
pub fn upper(packet: &[u8]) -> Result<Upper, Refusal> {
    let to_group = packet.get(24) == Some(&0xff);
    let mut named_at = 6;
    let mut walk = ExtHeaders::new(packet);
    loop {
        let (protocol, offset) = (walk.protocol(), walk.offset());
        let here = Upper { protocol, offset, named_at };
        // Other headers end the walk: the node registered for the protocol takes the packet.
        let followed = matches!(
            protocol,
            IpProtocol::HOP_BY_HOP
                | IpProtocol::ROUTING
                | IpProtocol::FRAGMENT
                | IpProtocol::DEST_OPTIONS
        );
        let header = match walk.next() {
            None if protocol == IpProtocol::NO_NEXT => return Err(Refusal::NoNextHeader),
            None => return Ok(here),
            Some(_) if !followed => return Ok(here),
            Some(Ok(header)) => header,
            Some(Err(ExtError::Truncated)) => return Err(Refusal::TooShort),
            Some(Err(ExtError::TooMany)) => return Err(Refusal::TooMany),
        };
        match header.kind {
            IpProtocol::FRAGMENT => {
                // An atomic fragment is no fragment (RFC 6946).
                let whole = |f: &Ip6Fragment| f.offset() == 0 && !f.more_fragments();
                if !Ip6Fragment::view(header.bytes).is_some_and(whole) {
                    return Err(Refusal::Fragment);
                }
            }
            // Source routes are refused (RFC 5095); a header without segments left is ignored.
            IpProtocol::ROUTING if header.bytes[3] != 0 => {
                return Err(Refusal::Problem(code6::ERRONEOUS_FIELD, header.offset as u32 + 2));
            }
            IpProtocol::DEST_OPTIONS => {
                options(&header, to_group)?;
            }
            // Hop-by-hop options were processed on input.
            _ => {}
        }
        named_at = header.offset;
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    fn packet(first: u8, rest: &[u8]) -> Vec<u8> {
        let mut packet = testkit::pkt::ip6("2001:db8::1", "2001:db8::2").udp(1, 2).build();
        packet.truncate(40);
        (packet[5], packet[6]) = (rest.len() as u8, first);
        packet.extend(rest);
        packet
    }

    fn asked(body: &[u8], to_group: bool) -> Result<HopOptions, Refusal> {
        let bytes = [&[17, (body.len() / 8) as u8][..], body].concat();
        assert_eq!(bytes.len() % 8, 0);
        options(
            &ExtHeader {
                kind: IpProtocol::HOP_BY_HOP,
                next: IpProtocol::UDP,
                offset: 40,
                bytes: &bytes,
            },
            to_group,
        )
    }

    #[suite::test]
    fn what_unknown_options_say() {
        assert_eq!(asked(&[5, 2, 0, 1, 1, 0], false), Ok(HopOptions { router_alert: Some(1) }));
        assert_eq!(asked(&[0x1e, 2, 0, 1, 1, 0], false), Ok(HopOptions::default()));
        assert_eq!(asked(&[0x5e, 2, 0, 1, 1, 0], false), Err(Refusal::Discard));
        assert_eq!(asked(&[1, 0, 0x9e, 1, 0, 0], true), Err(Refusal::Problem(2, 44)));
        assert_eq!(asked(&[0xde, 2, 0, 1, 1, 0], false), Err(Refusal::Problem(2, 42)));
        assert_eq!(asked(&[0xde, 2, 0, 1, 1, 0], true), Err(Refusal::Discard));
        assert_eq!(asked(&[5, 3, 0, 1, 0, 0], false), Err(Refusal::Problem(0, 43)));
        assert_eq!(asked(&[1, 9, 0, 1, 1, 0], false), Err(Refusal::Problem(0, 43)));
        assert_eq!(asked(&[0x1e, 0].repeat(19), false), Err(Refusal::TooMany));
    }

    #[suite::test]
    fn the_way_to_the_upper_layer() {
        let found = |first, rest: &[u8]| {
            upper(&packet(first, rest)).map(|u| (u.protocol.0, u.offset, u.named_at))
        };
        assert_eq!(found(17, &[0; 8]), Ok((17, 40, 6)));
        assert_eq!(found(60, &[17, 0, 1, 4, 0, 0, 0, 0, 9]), Ok((17, 48, 40)));
        assert_eq!(found(43, &[6, 0, 0, 0, 0, 0, 0, 0, 9]), Ok((6, 48, 40)), "a route at its end");
        assert_eq!(found(43, &[6, 0, 0, 1, 0, 0, 0, 0, 9]), Err(Refusal::Problem(0, 42)));
        assert_eq!(found(44, &[6, 0, 0, 0, 0, 0, 0, 0, 9]), Ok((6, 48, 40)), "a whole fragment");
        assert_eq!(found(44, &[6, 0, 0, 1, 0, 0, 0, 0, 9]), Err(Refusal::Fragment));
        assert_eq!(
            found(60, &[51, 0, 1, 4, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]),
            Ok((51, 48, 40)),
            "AH is nobody's"
        );
        assert_eq!(found(51, &[]), Ok((51, 40, 6)));
        assert_eq!(
            found(60, &[0, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0]),
            Ok((0, 48, 40)),
            "not the first"
        );
        assert_eq!(found(59, &[0; 8]), Err(Refusal::NoNextHeader));
        assert_eq!(found(60, &[17, 1, 1, 4, 0, 0, 0, 0]), Err(Refusal::TooShort));
        assert_eq!(found(60, &[60, 0, 1, 4, 0, 0, 0, 0].repeat(12)), Err(Refusal::TooMany));
        assert_eq!(found(60, &[17, 0, 0xc1, 4, 0, 0, 0, 0]), Err(Refusal::Problem(2, 42)));
    }
}

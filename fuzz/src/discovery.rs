// SPDX-License-Identifier: Apache-2.0
//! Messages of neighbour discovery and multicast listener discovery: no panic, and options lie one
//! behind the other.

use wire::describe::{Layer, describe};
use wire::mld::{Mld2Report, MldMessage};
use wire::nd::{MAX_ND_OPTIONS, NdOption, NdOptionKind, NdOptions};
use wire::{Header, Icmp6Type};

/// One input.
pub fn run(message: &[u8]) {
    let Some(&kind) = message.first() else { return };
    let fixed = match Icmp6Type(kind) {
        Icmp6Type::ROUTER_SOLICITATION => 8,
        Icmp6Type::ROUTER_ADVERTISEMENT => 16,
        Icmp6Type::NEIGHBOR_SOLICITATION | Icmp6Type::NEIGHBOR_ADVERTISEMENT => 24,
        Icmp6Type::REDIRECT => 40,
        _ => 4,
    };
    let options = message.get(fixed..).unwrap_or_default();
    let (mut end, mut seen, mut whole) = (0, 0, true);
    for option in NdOptions::new(options) {
        let Ok(option) = option else {
            whole = false;
            continue;
        };
        assert!(whole, "an error is the last item");
        assert_eq!(option.bytes, &options[end..end + option.bytes.len()]);
        end += option.bytes.len();
        seen += 1;
        if let NdOption::Rdnss { servers, .. } = NdOption::from(option) {
            assert!(!servers.is_empty() && servers.len() * 16 < option.bytes.len());
        }
    }
    assert!(seen <= MAX_ND_OPTIONS && (!whole || end == options.len()));
    assert_eq!(NdOptions::new(options).link_address(NdOptionKind::SOURCE_LINK).is_ok(), whole);
    assert!(Mld2Report::records(message).count() * 20 <= message.len());
    if let Some(query) = MldMessage::view(message) {
        assert!(query.max_response_ms() < 1 << 24);
    }
    let text = describe(message, Layer::Icmp6).to_string();
    assert!(text.len() <= 1000 + 100 * message.len());
}

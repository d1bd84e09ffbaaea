// SPDX-License-Identifier: Apache-2.0
//! Commands about VLAN tags.

use crate::bridge::Bridge;
use cli::{Error, Matches, Result};
use graph::World;
use net::args::interface;
use net::{BackboneRewrite, TagRewrite};

/// Syntax of `set interface l2 tag-rewrite`.
pub const USAGE: &str = "<interface:interface> {disable | pop <pop:1-2> | push {dot1q | dot1ad} <tag:u16> [<inner:u16>] | translate <how:1-1|1-2|2-1|2-2> {dot1q | dot1ad} <tag:u16> [<inner:u16>]}";

/// Returns the rewrite that the command describes.
fn wanted(m: &Matches) -> Result<TagRewrite> {
    let tags: [Option<u16>; 2] = [m.opt("tag")?, m.opt("inner")?];
    let pushed = tags.iter().flatten().count();
    let op = match (m.opt::<u8>("pop")?, m.str("how")) {
        _ if m.flag("disable") => TagRewrite::NONE,
        (Some(1), _) => TagRewrite::POP_1,
        (Some(_), _) => TagRewrite::POP_2,
        (None, "1-1") => TagRewrite::TRANSLATE_1_1,
        (None, "1-2") => TagRewrite::TRANSLATE_1_2,
        (None, "2-1") => TagRewrite::TRANSLATE_2_1,
        (None, "2-2") => TagRewrite::TRANSLATE_2_2,
        (None, _) if pushed == 1 => TagRewrite::PUSH_1,
        (None, _) => TagRewrite::PUSH_2,
    };
    let asked = match m.str("how").split_once('-') {
        Some((_, "2")) => 2,
        Some(_) => 1,
        None => pushed,
    };
    if asked != pushed {
        return Err(
            Error::parse(format!("{asked} tags are pushed, and {pushed} named")).at(m.span("tag"))
        );
    }
    Ok(TagRewrite { op, dot1q: m.flag("dot1q"), tags: tags.map(Option::unwrap_or_default) })
}

/// `set interface l2 tag-rewrite`.
pub fn rewrite(w: &World, m: &Matches) -> Result<()> {
    w.get::<Bridge>().set_tag_rewrite(w, interface(w, m, "interface")?, wanted(m)?)
}

/// Syntax of `set interface l2 pbb-tag-rewrite`.
pub const BACKBONE_USAGE: &str = "<interface:interface> {disable | pop | push} [dmac <dmac:mac>] [smac <smac:mac>] [s_id <service:u32>] [b_vlanid <vlan:u16>]";

/// `set interface l2 pbb-tag-rewrite`.
pub fn rewrite_backbone(w: &World, m: &Matches) -> Result<()> {
    let op = match (m.flag("push"), m.flag("pop")) {
        (true, _) => TagRewrite::PUSH_2,
        (_, true) => TagRewrite::POP_2,
        _ => TagRewrite::NONE,
    };
    let missing = ["dmac", "smac", "service"].into_iter().find(|word| !m.has(word));
    if let Some(word) = missing.filter(|_| op != TagRewrite::NONE) {
        let word = if word == "service" { "s_id" } else { word };
        let why =
            format!("`{word}' is missing: the header has addresses, a service instance and a VLAN");
        return Err(Error::usage(why));
    }
    let wanted = BackboneRewrite {
        op,
        destination: m.opt("dmac")?.unwrap_or_default(),
        source: m.opt("smac")?.unwrap_or_default(),
        vlan: m.opt("vlan")?.unwrap_or_default(),
        service: m.opt("service")?.unwrap_or_default(),
    };
    w.get::<Bridge>().set_backbone_rewrite(w, interface(w, m, "interface")?, wanted)
}

// SPDX-License-Identifier: Apache-2.0
//! Ethernet, ARP, MPLS, GRE, VXLAN.

use super::{Inner, Layer, Printer};
use crate::{Arp, EtherType, Ethernet, Gre, Header, Llc, MplsLabel, Snap, VlanTag, Vxlan};

/// Tags and labels printed at most.
const MAX_STACK: usize = 8;

impl Printer<'_, '_> {
    pub(super) fn ethernet<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some((header, mut rest)) = Ethernet::split(bytes) else {
            return self.cut("ETHERNET", bytes);
        };
        let mut ethertype = header.ethertype();
        let after_header = (ethertype, rest);
        for _ in 0..MAX_STACK {
            match VlanTag::split(rest) {
                Some((tag, inner)) if ethertype.is_vlan() => {
                    (ethertype, rest) = (tag.ethertype(), inner)
                }
                _ => break,
            }
        }
        let mut snap = None;
        if ethertype.is_length() {
            let llc = Llc::split(rest);
            snap = llc.filter(|(llc, _)| llc.is_snap()).and_then(|(_, inner)| Snap::split(inner));
            match (snap, llc) {
                (Some(_), _) => self.line(format_args!("SNAP"))?,
                (None, Some((llc, _))) if llc.is_stp() => self.line(format_args!("STP"))?,
                _ => self.line(format_args!("LLC"))?,
            }
        } else {
            self.line(format_args!("{ethertype}"))?;
        }
        self.text(format_args!(": {} -> {}", header.src, header.dst))?;

        // the same walk again, now that the line has begun with the innermost type
        let (mut outer, mut tags) = after_header;
        for _ in 0..MAX_STACK {
            let Some((tag, inner)) = VlanTag::split(tags).filter(|_| outer.is_vlan()) else {
                break;
            };
            let name = if outer == EtherType::QINQ { "802.1ad" } else { "802.1q" };
            self.text(format_args!(" {name} vlan {}", tag.id()))?;
            if tag.pcp() != 0 {
                self.text(format_args!(" priority {}", tag.pcp()))?;
            }
            if tag.dei() {
                self.text(format_args!(" dei"))?;
            }
            (outer, tags) = (tag.ethertype(), inner);
        }
        if ethertype.is_length() {
            self.text(format_args!(" length {}", ethertype.0))?;
            return Ok(snap
                .and_then(|(snap, inner)| Some((Layer::of_ethertype(snap.ethertype()?)?, inner))));
        }
        Ok(Layer::of_ethertype(ethertype).map(|layer| (layer, rest)))
    }

    pub(super) fn arp<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some(arp) = Arp::view(bytes) else { return self.cut("ARP", bytes) };
        self.line(format_args!("{}, type ", arp.op()))?;
        match arp.hardware.get() {
            1 => self.text(format_args!("ethernet"))?,
            other => self.text(format_args!("{other}"))?,
        }
        let protocol = EtherType(arp.protocol.get());
        self.text(format_args!(
            "/{protocol}, address size {}/{}",
            arp.hardware_len, arp.protocol_len
        ))?;
        if arp.is_ethernet_ip4() {
            let (sender, target) = (arp.sender_ip(), arp.target_ip());
            self.line(format_args!("{}/{sender} -> {}/{target}", arp.sender_mac, arp.target_mac))?;
        }
        Ok(None)
    }

    pub(super) fn mpls<'b>(&mut self, mut bytes: &'b [u8]) -> Inner<'b> {
        for _ in 0..MAX_STACK {
            let Some((entry, rest)) = MplsLabel::split(bytes) else {
                return self.cut("MPLS", bytes);
            };
            let (label, class, ttl) = (entry.label(), entry.class(), entry.ttl());
            self.line(format_args!("MPLS: label {label} exp {class} ttl {ttl}"))?;
            bytes = rest;
            if entry.is_bottom() {
                self.text(format_args!(" bottom of stack"))?;
                // the stack doesn't name what it carries: the first nibble does (RFC 4928 §3)
                let ip = matches!(bytes.first().map(|first| first >> 4), Some(4 | 6));
                return Ok(ip.then_some((Layer::Ip, bytes)));
            }
        }
        Ok(None)
    }

    pub(super) fn gre<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some(gre) = Gre::view(bytes) else { return self.cut("GRE", bytes) };
        let (flags, protocol) = (gre.flags.get(), gre.protocol());
        self.line(format_args!("GRE: {protocol} flags 0x{flags:04x}"))?;
        if gre.version() != 0 || flags & Gre::ROUTING != 0 {
            return Ok(None);
        }
        let Some(rest) = bytes.get(gre.header_len()..) else { return Ok(None) };
        let word = |index: u16| {
            bytes.get(4 + 4 * usize::from(index)..).and_then(|word| word.first_chunk())
        };
        let mut index = flags >> 15;
        if flags & Gre::KEY != 0 {
            let key = u32::from_be_bytes(word(index).copied().unwrap_or_default());
            self.text(format_args!(" key {key}"))?;
            index += 1;
        }
        if flags & Gre::SEQUENCE != 0 {
            let sequence = u32::from_be_bytes(word(index).copied().unwrap_or_default());
            self.text(format_args!(" sequence {sequence}"))?;
        }
        Ok(Layer::of_ethertype(protocol).map(|layer| (layer, rest)))
    }

    pub(super) fn vxlan<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some((vxlan, rest)) = Vxlan::split(bytes) else { return self.cut("VXLAN", bytes) };
        self.line(format_args!("VXLAN: vni {} flags 0x{:02x}", vxlan.vni(), vxlan.flags))?;
        Ok(Some((Layer::Ethernet, rest)))
    }
}

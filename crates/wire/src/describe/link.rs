// SPDX-License-Identifier: Apache-2.0
//! Ethernet, ARP, MPLS, GRE, VXLAN, GENEVE, GTP-U.

use super::{Inner, Layer, Printer};
use crate::{
    Arp, EtherType, Ethernet, Geneve, Gre, Gtpu, Header, Llc, MplsLabel, Snap, VlanTag, Vxlan,
    VxlanGpe,
};

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

    pub(super) fn vxlan_gpe<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some((gpe, rest)) = VxlanGpe::split(bytes) else {
            return self.cut("VXLAN-GPE", bytes);
        };
        let (vni, flags, next) = (gpe.vni(), gpe.flags, gpe.next);
        self.line(format_args!("VXLAN-GPE: vni {vni} flags 0x{flags:02x} next-protocol {next}"))?;
        let layer = match gpe.payload() {
            VxlanGpe::IP4 => Layer::Ip4,
            VxlanGpe::IP6 => Layer::Ip6,
            VxlanGpe::ETHERNET => Layer::Ethernet,
            _ => return Ok(None),
        };
        Ok(Some((layer, rest)))
    }

    pub(super) fn geneve<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some(geneve) = Geneve::view(bytes) else { return self.cut("GENEVE", bytes) };
        let (vni, protocol) = (geneve.vni(), geneve.protocol());
        self.line(format_args!("GENEVE: vni {vni} {protocol} version {}", geneve.version()))?;
        let options = geneve.header_len() - size_of::<Geneve>();
        self.text(format_args!(" flags 0x{:02x} options {options} bytes", geneve.flags))?;
        let rest = bytes.get(geneve.header_len()..).filter(|_| geneve.version() == 0);
        Ok(Layer::of_ethertype(protocol).zip(rest))
    }

    pub(super) fn gtpu<'b>(&mut self, bytes: &'b [u8]) -> Inner<'b> {
        let Some(gtpu) = Gtpu::view(bytes) else { return self.cut("GTP-U", bytes) };
        let Gtpu { flags, message, length, teid } = *gtpu;
        self.line(format_args!("GTP-U: teid {teid} flags 0x{flags:02x} type {message}"))?;
        self.text(format_args!(" length {length}"))?;
        if flags & Gtpu::VERSION != Gtpu::V1 || message != Gtpu::G_PDU {
            return Ok(None);
        }
        let Ok(headers) = Gtpu::headers(bytes) else { return Ok(None) };
        if let Some(qfi) = headers.qfi {
            self.text(format_args!(" qfi {qfi}"))?;
        }
        // IP packets, or frames of a PDU session of type Ethernet: the packet doesn't say it.
        let rest = &bytes[headers.len..];
        Ok(matches!(rest.first().map(|first| first >> 4), Some(4 | 6)).then_some((Layer::Ip, rest)))
    }
}

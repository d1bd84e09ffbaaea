// SPDX-License-Identifier: Apache-2.0
//! Rewriting for provider backbone bridges (MAC-in-MAC, IEEE 802.1Q 25): a header with backbone
//! addresses, a backbone tag and a service instance tag is put in front of received frames, or
//! taken off, and the inverse change is made in frames that the port sends.

use crate::bridge::Bridge;
use buffer::Buffer;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::{BackboneRewrite, Column, Interfaces, TagRewrite, VLAN_IDS};
use wire::EtherType;

/// Bytes of the header: two addresses, the backbone tag (4), the service instance tag (6).
const HEADER: usize = 22;
/// The type of the service instance tag (IEEE 802.1Q 9.4).
const SERVICE: EtherType = EtherType(0x88e7);
/// Ids of service instances have 24 bits (9.7).
const MAX_SERVICE: u32 = (1 << 24) - 1;

/// The rewrite of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backbone {
    /// Received frames get the header; else it is taken off them.
    pushes: bool,
    header: [u8; HEADER],
}

impl Backbone {
    fn new(wanted: &BackboneRewrite) -> Self {
        let mut header = [0; HEADER];
        let fields: [&[u8]; 6] = [
            &wanted.destination.octets(),
            &wanted.source.octets(),
            &EtherType::QINQ.0.to_be_bytes(),
            &wanted.vlan.to_be_bytes(),
            &SERVICE.0.to_be_bytes(),
            // Priority 0, and the customer's addresses follow (9.7).
            &wanted.service.to_be_bytes(),
        ];
        header.iter_mut().zip(fields.into_iter().flatten()).for_each(|(to, byte)| *to = *byte);
        Self { pushes: wanted.op == TagRewrite::PUSH_2, header }
    }

    /// Rewrites a received frame. Returns false, and changes nothing, if it has no such header, or
    /// there is no room for one.
    #[inline(always)]
    #[must_use]
    pub fn receive(&self, b: &mut Buffer) -> bool {
        if self.pushes { self.push(b) } else { pop(b) }
    }

    /// The inverse, for a frame that the port sends.
    #[inline(always)]
    #[must_use]
    pub fn send(&self, b: &mut Buffer) -> bool {
        if self.pushes { pop(b) } else { self.push(b) }
    }

    #[inline(always)]
    fn push(&self, b: &mut Buffer) -> bool {
        match b.push::<HEADER>() {
            Some(front) => {
                *front = self.header;
                true
            }
            None => false,
        }
    }
}

/// Removes the header. The bytes behind it have to begin with an Ethernet header, whatever the ids
/// in the tags.
#[inline(always)]
fn pop(b: &mut Buffer) -> bool {
    let Some(&[.., b0, b1, _, _, s0, s1, _, _, _, _]) = b.bytes::<HEADER>(0) else { return false };
    let is_backbone =
        [b0, b1] == EtherType::QINQ.0.to_be_bytes() && [s0, s1] == SERVICE.0.to_be_bytes();
    is_backbone && b.bytes::<14>(HEADER).is_some() && b.pull(HEADER)
}

/// Text of a rewrite in `show`.
pub fn describe(wanted: &BackboneRewrite) -> String {
    let op = if wanted.op == TagRewrite::PUSH_2 { "push" } else { "pop" };
    format!("pbb {op} {} i-sid {}", wanted.vlan, wanted.service)
}

/// The words of the command that sets a rewrite, behind the interface.
pub fn words(wanted: &BackboneRewrite) -> String {
    let BackboneRewrite { op, destination, source, vlan, service } = wanted;
    let op = if *op == TagRewrite::PUSH_2 { "push" } else { "pop" };
    format!("{op} dmac {destination} smac {source} s_id {service} b_vlanid {vlan}")
}

impl Bridge {
    /// Sets the backbone rewrite of an interface for as long as it is in layer-2 mode; operation
    /// [`TagRewrite::NONE`] ends it. Tag rewriting, if it is set too, takes precedence.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or isn't an Ethernet one (−71); an operation that there
    /// is none of, a VLAN above 4094 or a service instance above 2²⁴ − 1 (−7); translation
    /// (−9).
    pub fn set_backbone_rewrite(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        wanted: BackboneRewrite,
    ) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let invalid = |why: String| Err(Error::parse(why).retval(retval::INVALID_VALUE));
        match wanted.op {
            TagRewrite::NONE | TagRewrite::PUSH_2 | TagRewrite::POP_2 => (),
            TagRewrite::TRANSLATE_2_1 => {
                let why = "translation of backbone tags is not implemented";
                return Err(Error::unsupported(why).retval(retval::UNIMPLEMENTED));
            }
            op => return invalid(format!("there is no backbone rewrite {op}")),
        }
        if !interface.can_switch() {
            let why = format!("{} carries no Ethernet frames", interface.name);
            return Err(Error::unsupported(why).retval(retval::INVALID_INTERFACE));
        }
        if wanted.op != TagRewrite::NONE && wanted.vlan > *VLAN_IDS.end() {
            return invalid(format!("{} is no VLAN id: at most 4094", wanted.vlan));
        }
        if wanted.op != TagRewrite::NONE && wanted.service > MAX_SERVICE {
            return invalid(format!(
                "{} is no service instance: at most {MAX_SERVICE}",
                wanted.service
            ));
        }
        let rewrite = (wanted.op != TagRewrite::NONE).then_some(wanted);
        world.get::<Column<Option<BackboneRewrite>>>().set(world, sw_if, rewrite)?;
        self.publish_known_port(world, &self.control(), sw_if);
        Ok(())
    }

    /// Publishes the backbone rewrite of a port to workers. Returns whether it has one.
    pub(crate) fn publish_backbone(
        &self,
        sw_if: SwIfIndex,
        rewrite: Option<&BackboneRewrite>,
    ) -> bool {
        match rewrite {
            Some(rewrite) => self.backbones.set(sw_if.0, Backbone::new(rewrite)),
            None => _ = self.backbones.clear(sw_if.0),
        }
        rewrite.is_some()
    }
}

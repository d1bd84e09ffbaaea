// SPDX-License-Identifier: Apache-2.0
//! Layer 2: the role of an interface in switching, and the rewriting of its frames.

use super::{Column, IfKind, Interface, Interfaces, OwnUse, Property};
use crate::view::{IfFlags, IfView};
use cli::Error;
use graph::{SwIfIndex, World};
use msg::retval;
use wire::MacAddr;

/// The role of an interface in layer-2 switching.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum L2Role {
    /// No role: packets are routed.
    #[default]
    None,
    /// Received frames are switched, whatever their destination.
    Port,
    /// Routed interface of a bridge domain: packets sent by it are switched.
    Bvi,
}

impl L2Role {
    /// Returns true if an interface with this role carries Ethernet frames. Some tunnels do in
    /// layer-2 mode only.
    pub fn carries_frames(self, interface: &Interface) -> bool {
        interface.kind == IfKind::Ethernet
            || self != Self::None && interface.device.carries_frames_in_l2()
    }
}

impl Property for L2Role {
    fn show(&self, interface: &Interface, _: IfFlags, view: &mut IfView) {
        view.flags.set(IfFlags::L2, *self == Self::Port);
        view.flags.set(IfFlags::BVI, *self == Self::Bvi);
        let is_ip = interface.kind.is_ip() && !self.carries_frames(interface);
        view.flags.set(IfFlags::IP_MODE, is_ip);
    }
}

/// Tag rewriting of received frames while an interface is in layer-2 mode, with VPP's operation
/// numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TagRewrite {
    /// The operation: one of the constants.
    pub op: u32,
    /// True if the first tag that is pushed is a customer tag (802.1Q), not a service tag
    /// (802.1ad).
    pub dot1q: bool,
    /// The ids of the tags that are pushed, outer one first; 0 where none is.
    pub tags: [u16; 2],
}

impl TagRewrite {
    /// No rewrite.
    pub const NONE: u32 = 0;
    /// One tag is put in front of the present tags.
    pub const PUSH_1: u32 = 1;
    /// Two tags are put in front of the present tags.
    pub const PUSH_2: u32 = 2;
    /// The outer tag is removed.
    pub const POP_1: u32 = 3;
    /// Both tags are removed.
    pub const POP_2: u32 = 4;
    /// The outer tag is replaced by another.
    pub const TRANSLATE_1_1: u32 = 5;
    /// The outer tag is replaced by two.
    pub const TRANSLATE_1_2: u32 = 6;
    /// Two tags are replaced by one.
    pub const TRANSLATE_2_1: u32 = 7;
    /// Two tags are replaced by two others.
    pub const TRANSLATE_2_2: u32 = 8;
}

/// Rewriting for provider backbone bridges while an interface is in layer-2 mode: a header in front
/// of whole frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BackboneRewrite {
    /// [`TagRewrite::PUSH_2`]: received frames get the header; [`TagRewrite::POP_2`]: it is removed
    /// from them.
    pub op: u32,
    /// The backbone destination address.
    pub destination: MacAddr,
    /// The backbone source address.
    pub source: MacAddr,
    /// The VLAN of the backbone tag.
    pub vlan: u16,
    /// The service instance (I-SID), 24 bits.
    pub service: u32,
}

impl Property for TagRewrite {}

/// The backbone rewriting of an interface, if it has one.
impl Property for Option<BackboneRewrite> {}

impl Interfaces {
    /// Sets the layer-2 role of an interface. The device of a port, or of its parent, receives
    /// frames for all MAC addresses.
    ///
    /// # Errors
    /// One that isn't there, or carries no Ethernet frames (−71); one that another interface owns,
    /// as its owner decides; the device's error.
    pub fn set_l2(&self, world: &World, sw_if: SwIfIndex, role: L2Role) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        let roles = world.get::<Column<L2Role>>();
        if roles.get(sw_if) == role {
            return Ok(());
        }
        if !interface.can_switch() {
            return Err(Error::unsupported(format!(
                "{} carries no Ethernet frames",
                interface.name
            ))
            .retval(retval::INVALID_INTERFACE));
        }
        if role != L2Role::None {
            self.check_own_use(world, &interface, OwnUse::Switching)?;
        }
        let over = self.get(interface.parent)?;
        let all = role == L2Role::Port || self.receives_all(world, &over, Some(sw_if));
        over.device.set_promiscuous(world, all)?;
        roles.set(world, sw_if, role)
    }
}

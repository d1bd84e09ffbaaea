// SPDX-License-Identifier: Apache-2.0
//! Sub-interfaces: interfaces for the frames of a parent that have certain VLAN tags.

use super::{
    FrameTags, IfKind, Interface, Interfaces, MtuKind, NewInterface, NewOutput, OwnUse, SubFrames,
    SubInterface,
};
use super::{VLAN_IDS, Vlan, VlanTree};
use crate::device::Device;
use crate::event::IfEvent;
use crate::tags::{SentTags, TAG};
use cli::Error;
use graph::{SwIfIndex, World};
use msg::retval;
use std::sync::Arc;
use sync::Turn;

/// A sub-interface, for its output node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubOf {
    /// The parent.
    pub parent: SwIfIndex,
    /// The tags of frames that it sends ([`super::Tags::exact_bytes`]). `None` if they are not
    /// known: then it can't send routed packets.
    pub tags: Option<Vec<[u8; TAG]>>,
}

/// A sub-interface whose frames have known tags, for threads that do the work of its output node
/// themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentBy {
    /// The index of the parent, which counts the frames too.
    pub parent: u32,
    /// The tags of frames that it sends.
    pub tags: SentTags,
}

/// A sub-interface has no device of its own.
struct SubDevice;
impl Device for SubDevice {
    fn driver(&self) -> &'static str {
        "sub-interface"
    }
}

impl Interfaces {
    /// Adds the sub-interface `PARENT.ID`, with the parent's MAC address and link state. It starts
    /// admin down.
    ///
    /// # Errors
    /// A parent that isn't there (−2) or isn't an Ethernet device (−71), or that another interface
    /// owns, as its owner decides; a number that another sub-interface of the parent has (−56); an
    /// invalid VLAN id (−55); tags that another one takes, or invalid tags (−1); too many
    /// interfaces.
    pub fn create_sub(
        &self,
        world: &World,
        parent: SwIfIndex,
        sub: SubInterface,
    ) -> Result<SwIfIndex, Error> {
        self.create_sub_above(world, parent, sub, parent)
    }

    /// As [`Self::create_sub`], with an index above that of another interface too, as in
    /// [`Self::create_above`].
    ///
    /// # Errors
    /// As [`Self::create_sub`].
    pub fn create_sub_above(
        &self,
        world: &World,
        parent: SwIfIndex,
        sub: SubInterface,
        above: SwIfIndex,
    ) -> Result<SwIfIndex, Error> {
        let over = self.get(parent)?;
        if over.sub.is_some() || over.kind != IfKind::Ethernet {
            let what = if over.sub.is_some() {
                "is a sub-interface itself"
            } else {
                "carries no Ethernet frames"
            };
            let why = format!("{} {what}: an Ethernet device can have sub-interfaces", over.name);
            return Err(Error::unsupported(why).retval(retval::INVALID_INTERFACE));
        }
        self.check_own_use(world, &over, OwnUse::Sub)?;
        if self.sub(parent, sub.id).is_some() {
            return Err(Error::failed(format!(
                "there is an interface {}.{} already",
                over.name, sub.id
            ))
            .retval(retval::VLAN_ALREADY_EXISTS));
        }
        check(sub.frames)?;
        if let SubFrames::Peer(_) = sub.frames {
            over.device.set_promiscuous(world, true)?;
        }
        let (name, made) =
            (format!("{}.{}", over.name, sub.id), format!("{}.{}", over.original.name, sub.id));
        let sw_if = self.allot(world, &name, &made, Some(parent.max(above)))?;
        let output = self.take_frames(parent, sub.frames, sw_if).and_then(|()| {
            let output = self.add_output(world, &made, sw_if, &over, sub.frames);
            output.inspect_err(|_| {
                self.sent.clear(sw_if.0);
                self.leave_frames(parent, sub.frames);
            })
        });
        let output = output.inspect_err(|_| self.inner().give_back(sw_if, &name, &made))?;
        let new = NewInterface {
            name: made,
            kind: IfKind::Ethernet,
            device: Arc::new(SubDevice),
            mac: over.mac,
            mtu: 0,
            link_up: over.admin_up && over.link_up,
        };
        let mut interface = Interface::new(sw_if, new, (output, over.tx));
        (interface.name, interface.parent, interface.sub) = (name, parent, Some(sub));
        interface.mtu.own[0] = over.mtu_of(MtuKind::L3);
        {
            let mut inner = self.inner();
            inner.subs.entry(parent).or_default().insert(sub.id, sw_if);
            self.publish(&inner, parent);
        }
        self.put(world, interface);
        Ok(sw_if)
    }

    /// The output node of a new sub-interface, which hands packets to its parent's device.
    fn add_output(
        &self,
        world: &World,
        made: &str,
        sw_if: SwIfIndex,
        parent: &Interface,
        frames: SubFrames,
    ) -> Result<graph::NodeIndex, Error> {
        let make_output = self.inner().make_output;
        let tags = match frames {
            SubFrames::Tagged(tags) => tags.exact_bytes(),
            SubFrames::Default => None,
            SubFrames::Peer(_) => Some(Vec::new()),
        };
        let some = tags.as_deref().filter(|tags| !tags.is_empty());
        if let Some(tags) = some.and_then(SentTags::of) {
            self.sent.set(sw_if.0, SentBy { parent: parent.sw_if.0, tags });
        }
        let Some(make) = make_output else { return Ok(parent.tx) };
        let sub = Some(SubOf { parent: parent.sw_if, tags });
        make(
            world,
            &NewOutput {
                name: &format!("{made}-output"),
                sw_if,
                tx: parent.tx,
                shared: false,
                sub,
            },
        )
    }

    fn take_frames(
        &self,
        parent: SwIfIndex,
        frames: SubFrames,
        sw_if: SwIfIndex,
    ) -> Result<(), Error> {
        if let SubFrames::Peer(_) = frames {
            return Ok(());
        }
        let taken = self.vlans.read(parent.0, |tree| tree.map(|tree| tree.insert(frames, sw_if)));
        if taken.is_none() {
            let tree = VlanTree::default();
            tree.insert(frames, sw_if);
            self.vlans.set(parent.0, tree);
        }
        if taken.unwrap_or(true) {
            return Ok(());
        }
        let why = format!("another sub-interface of {} takes these frames", self.name(parent));
        Err(Error::failed(why).retval(retval::UNSPECIFIED))
    }

    /// Removes frames from the parent's tree. The tree goes with its last sub-interface, and is
    /// replaced when most of it is unused.
    fn leave_frames(&self, parent: SwIfIndex, frames: SubFrames) {
        if let SubFrames::Peer(_) = frames {
            return;
        }
        let left = self.tagged_subs(parent).len();
        let is_wasteful = self.vlans.read(parent.0, |tree| {
            tree.is_some_and(|tree| {
                tree.remove(frames);
                tree.is_wasteful(left)
            })
        });
        if left == 0 {
            self.vlans.clear(parent.0);
        } else if is_wasteful {
            let tree = VlanTree::default();
            for (sw_if, frames) in self.tagged_subs(parent) {
                tree.insert(frames, sw_if);
            }
            self.vlans.set(parent.0, tree);
        }
    }

    /// The sub-interfaces of a parent that match frames by their tags.
    fn tagged_subs(&self, parent: SwIfIndex) -> Vec<(SwIfIndex, SubFrames)> {
        let inner = self.inner();
        let frames = |sw_if: SwIfIndex| {
            let interface = inner.all.get(sw_if.at()).and_then(Option::as_ref)?;
            interface.sub.map(|sub| sub.frames).filter(|f| !matches!(f, SubFrames::Peer(_)))
        };
        let subs = inner.subs.get(&parent).into_iter().flat_map(|subs| subs.values());
        subs.filter_map(|sw_if| Some((*sw_if, frames(*sw_if)?))).collect()
    }

    /// Takes back the frames of an interface that is being deleted.
    pub(super) fn release_frames(&self, world: &World, interface: &Interface) {
        let Some(sub) = interface.sub else { return };
        {
            let mut inner = self.inner();
            if let Some(subs) = inner.subs.get_mut(&interface.parent) {
                subs.remove(&sub.id);
                if subs.is_empty() {
                    inner.subs.remove(&interface.parent);
                }
            }
            self.publish(&inner, interface.parent);
        }
        self.sent.clear(interface.sw_if.0);
        self.leave_frames(interface.parent, sub.frames);
        if let (SubFrames::Peer(_), Ok(over)) = (sub.frames, self.get(interface.parent)) {
            let all = self.receives_all(world, &over, Some(interface.sw_if));
            // A device that refuses goes on receiving more than is needed.
            _ = over.device.set_promiscuous(world, all);
        }
    }

    /// The sub-interface of a parent that matches frames with these tags.
    #[inline(always)]
    pub fn sub_of(&self, parent: u32, tags: FrameTags, turn: &Turn<'_>) -> Option<u32> {
        self.vlans.get(parent, turn)?.find(tags)
    }

    /// The tags that a sub-interface puts into frames that it sends, if they are known.
    #[inline(always)]
    pub fn sent_by(&self, sub: u32, turn: &Turn<'_>) -> Option<SentBy> {
        self.sent.get(sub, turn).copied()
    }

    /// Returns true if an interface has sub-interfaces.
    #[inline(always)]
    pub fn has_subs(&self, parent: u32, turn: &Turn<'_>) -> bool {
        self.vlans.get(parent, turn).is_some()
    }

    /// The sub-interfaces of an interface, by the number behind the dot.
    pub fn subs(&self, parent: SwIfIndex) -> Vec<SwIfIndex> {
        self.inner()
            .subs
            .get(&parent)
            .map(|subs| subs.values().copied().collect())
            .unwrap_or_default()
    }

    /// The sub-interface of this number.
    pub fn sub(&self, parent: SwIfIndex, id: u32) -> Option<SwIfIndex> {
        self.inner().subs.get(&parent)?.get(&id).copied()
    }

    /// Checks that an interface can have IP addresses: not a sub-interface without exact tags.
    ///
    /// # Errors
    /// An interface that isn't there (−2); a sub-interface without exact tags (−1).
    pub fn check_addressing(&self, sw_if: SwIfIndex) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        match interface.sub.map(|sub| sub.frames) {
            None => Ok(()),
            Some(SubFrames::Tagged(tags)) if tags.exact => Ok(()),
            Some(SubFrames::Peer(_)) => Ok(()),
            Some(_) => {
                let why = format!(
                    "{}: sub-interface without exact-match doesn't support IP addressing",
                    interface.name
                );
                Err(Error::unsupported(why).retval(retval::UNSPECIFIED))
            }
        }
    }

    /// Updates the MAC address, link state and MTU of the sub-interfaces after the parent has
    /// changed.
    pub(super) fn lead_subs(&self, world: &World, parent: SwIfIndex) -> Result<(), Error> {
        for sub in self.subs(parent) {
            let (over, mine) = (self.get(parent)?, self.get(sub)?);
            self.set_link(world, sub, over.admin_up && over.link_up)?;
            if mine.mac != over.mac {
                self.change(world, sub, IfEvent::Mac(sub), |i| {
                    (i.mac, i.original.mac) = (over.mac, over.mac)
                })?;
            }
            if mine.mtu.own[0] != over.mtu_of(MtuKind::L3) {
                self.note_mtu(world, sub, over.mtu_of(MtuKind::L3))?;
            }
        }
        Ok(())
    }
}

/// Checks the tags of a new sub-interface.
fn check(frames: SubFrames) -> Result<(), Error> {
    let SubFrames::Tagged(tags) = frames else { return Ok(()) };
    let all = [Some(tags.outer), tags.inner];
    if let Some(Vlan::Id(id)) =
        all.into_iter().flatten().find(|v| matches!(v, Vlan::Id(id) if !VLAN_IDS.contains(id)))
    {
        return Err(
            Error::parse(format!("{id} is no VLAN id: 1 to 4094")).retval(retval::INVALID_VLAN)
        );
    }
    if tags.exact && tags.exact_bytes().is_none() {
        return Err(Error::parse(
            "`any' and `exact-match' exclude each other: exactly one VLAN is named, or any is taken",
        )
        .retval(retval::UNSPECIFIED));
    }
    Ok(())
}

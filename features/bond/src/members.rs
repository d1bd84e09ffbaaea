// SPDX-License-Identifier: Apache-2.0
//! Members come and go.

use crate::device::set_member_mtu;
use crate::input::BondInput;
use crate::model::{MemberInfo, Mode};
use crate::state::Bonds;
use cli::{Error, Result, retval};
use graph::{Node, SwIfIndex, World};
use net::{IfKind, Interface, Interfaces, L2Role};

impl Bonds {
    /// Makes an interface a member of a bond.
    ///
    /// # Errors
    /// An interface that isn't there (−2), is a member already (−81), or can't be one; a bond that isn't there (−71); what the device
    /// says.
    pub fn add_member(&self, world: &World, member: MemberInfo) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        let MemberInfo { sw_if, bond, .. } = member;
        let Some(info) = self.get(bond) else {
            let name = interfaces.name(bond);
            return Err(Error::failed(format!("{name} is no bond")).retval(retval::INVALID_INTERFACE));
        };
        let interface = interfaces.get(sw_if)?;
        self.check_member(world, &interface)?;
        if info.members.is_empty() && info.made.mac.is_none() {
            // The first member's address, unless an operator has given the bond another one.
            interfaces.note_made(world, bond, interface.mac, natural_mtu(&interface))?;
        }
        interfaces.join_bond(world, sw_if, &interfaces.get(bond)?)?;
        if let Some(bond) = self.control().bonds.get_mut(&bond) {
            bond.members.push(member);
        }
        self.enable_input(world, sw_if, true)?;
        if let Some(lacp) = self.lacp_of(info.made.mode) {
            (lacp.joined)(world, &member);
        }
        self.settle(world, bond);
        world.note_config_change();
        self.follow_mtu(world, bond)?;
        // One that an operator chose for the bond is the members' too.
        let chosen = interfaces.get(bond)?.own_mtu;
        chosen.map_or(Ok(()), |mtu| set_member_mtu(world, &interfaces, sw_if, mtu))
    }

    /// Checks that an interface can be a member.
    fn check_member(&self, world: &World, interface: &Interface) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        if let Some(membership) = interface.bond {
            let bond = interfaces.name(membership.bond);
            return Err(Error::failed(format!("{} is a member of {bond} already", interface.name))
                .retval(retval::VALUE_EXIST));
        }
        let why = if self.get(interface.sw_if).is_some() {
            "is a bond"
        } else if interface.kind != IfKind::Ethernet {
            "carries no Ethernet frames"
        } else if interface.sub.is_some() {
            "is a sub-interface"
        } else if interface.l2 != L2Role::None {
            "is in layer-2 mode: `set interface l3' ends that"
        } else if !interfaces.subs(interface.sw_if).is_empty() {
            "has sub-interfaces: those of a bond take the frames"
        } else {
            return Ok(());
        };
        Err(Error::unsupported(format!("{} {why}", interface.name)).retval(retval::INVALID_INTERFACE))
    }

    /// Takes a member out of its bond. It has its own MAC address and MTU again.
    ///
    /// # Errors
    /// An interface that is no member (−71); what the device says, once it has left.
    pub fn detach(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        let Some(member) = self.member(sw_if) else {
            return Err(Error::failed(format!("{} is no member of a bond", interfaces.name(sw_if)))
                .retval(retval::INVALID_INTERFACE));
        };
        let mode = {
            let mut control = self.control();
            let bond = control.bonds.get_mut(&member.bond);
            bond.map(|bond| {
                bond.members.retain(|member| member.sw_if != sw_if);
                bond.made.mode
            })
        };
        self.members.clear(sw_if.0);
        if let Some(lacp) = mode.and_then(|mode| self.lacp_of(mode)) {
            (lacp.left)(world, sw_if);
        }
        self.enable_input(world, sw_if, false)?;
        let left = interfaces.leave_bond(world, sw_if);
        let mtu = interfaces
            .get(sw_if)
            .and_then(|interface| set_member_mtu(world, &interfaces, sw_if, natural_mtu(&interface)));
        self.settle(world, member.bond);
        world.note_config_change();
        left.and(mtu).and(self.follow_mtu(world, member.bond))
    }

    /// Sets a member's weight. The active member of an active-backup bond with the highest one is the current one.
    ///
    /// # Errors
    /// An interface that is no member (−71); a bond of another mode (−73).
    pub fn set_weight(&self, world: &World, sw_if: SwIfIndex, weight: u32) -> Result<()> {
        let bond = {
            let mut control = self.control();
            match control.member_mut(sw_if) {
                None => {
                    let name = world.get::<Interfaces>().name(sw_if);
                    return Err(Error::failed(format!("{name} is no member of a bond"))
                        .retval(retval::INVALID_INTERFACE));
                }
                Some((Mode::ActiveBackup, member)) => member.weight = weight,
                Some((mode, _)) => {
                    return Err(Error::unsupported(format!(
                        "weights are for bonds in mode active-backup, not {}",
                        mode.word()
                    ))
                    .retval(retval::INVALID_ARGUMENT));
                }
            }
            control.bond_of(sw_if)
        };
        bond.into_iter().for_each(|bond| self.settle(world, bond));
        world.note_config_change();
        Ok(())
    }

    fn enable_input(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
        world.set_feature("device-input", BondInput::NAME, sw_if, on).map_err(Error::failed)
    }

    /// The MTU of a bond is the smallest of its members', unless an operator chose one.
    pub(crate) fn follow_mtu(&self, world: &World, bond: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        let (members, mtu) = {
            let control = self.control();
            let Some(bond) = control.bonds.get(&bond) else { return Ok(()) };
            (bond.members.clone(), bond.mtu)
        };
        let of = |member: &MemberInfo| interfaces.get(member.sw_if).ok().map(|i| natural_mtu(&i));
        let natural = members.iter().filter_map(of).min().unwrap_or(mtu);
        let made = interfaces.get(bond)?.made;
        if made.mtu == natural { Ok(()) } else { interfaces.note_made(world, bond, made.mac, natural) }
    }
}

/// The link's MTU that an interface has outside of a bond.
fn natural_mtu(interface: &Interface) -> u16 {
    interface.own_mtu.unwrap_or(interface.made.mtu)
}

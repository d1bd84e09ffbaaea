// SPDX-License-Identifier: Apache-2.0
//! Members join and leave bonds.

use crate::create::MTU;
use crate::device::set_member_mtu;
use crate::input::BondInput;
use crate::model::{BondInfo, MemberInfo, Mode};
use crate::owned::{follow_promiscuous, give_back};
use crate::state::Bonds;
use cli::{Error, Result, retval};
use graph::{Node, SwIfIndex, World};
use net::{Column, IfKind, Interface, Interfaces, L2Role};
use object::Choice;

impl Bonds {
    /// Makes an interface a member of a bond.
    ///
    /// # Errors
    /// An interface that isn't there (−2), is a member already (−81), or can't be one; a bond that
    /// isn't there (−71); the device's error.
    pub fn add_member(&self, world: &World, member: MemberInfo) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        let MemberInfo { sw_if, bond, .. } = member;
        let Some(info) = self.get(bond) else {
            let name = interfaces.name(bond);
            return Err(
                Error::failed(format!("{name} is no bond")).retval(retval::INVALID_INTERFACE)
            );
        };
        let interface = interfaces.get(sw_if)?;
        self.check_member(world, &interface)?;
        let before = interfaces.get(bond)?.original;
        if info.members.is_empty() && info.made.mac.is_none() {
            // The first member's address, unless an operator has given the bond another one.
            interfaces.note_made(world, bond, interface.mac, natural_mtu(&interface))?;
        }
        let joined = self.join(world, &info, member);
        if joined.is_err() {
            // A device refuses: bond and member get their old settings again.
            _ = self.detach(world, sw_if);
            _ = give_back(world, sw_if);
            interfaces.note_made(world, bond, before.mac, before.mtu)?;
        }
        joined
    }

    fn join(&self, world: &World, info: &BondInfo, member: MemberInfo) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        let MemberInfo { sw_if, bond, .. } = member;
        let owner = interfaces.get(bond)?;
        interfaces.lend_mac(world, sw_if, owner.mac)?;
        follow_promiscuous(world, sw_if, interfaces.receives_all(world, &owner, None))?;
        {
            let mut control = self.control();
            control.members.insert(sw_if, member);
            control.bonds.get_mut(&bond).into_iter().for_each(|bond| bond.members.push(sw_if));
        }
        self.enable_input(world, sw_if, true)?;
        if let Some(lacp) = self.lacp_of(info.made.mode) {
            (lacp.joined)(world, &member);
        }
        self.settle(world, bond);
        world.note_config_change();
        self.follow_mtu(world, bond)?;
        self.lead_mtus(world, bond)
    }

    /// Checks that an interface can be a member.
    fn check_member(&self, world: &World, interface: &Interface) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        if let Some(bond) = self.bond_of(interface.sw_if) {
            let bond = interfaces.name(bond);
            return Err(Error::failed(format!("{} is a member of {bond} already", interface.name))
                .retval(retval::VALUE_EXIST));
        }
        let why = if self.get(interface.sw_if).is_some() {
            "is a bond"
        } else if interface.kind != IfKind::Ethernet {
            "carries no Ethernet frames"
        } else if interface.sub.is_some() {
            "is a sub-interface"
        } else if world.get::<Column<L2Role>>().get(interface.sw_if) != L2Role::None {
            "is in layer-2 mode: `set interface l3' ends that"
        } else if !interfaces.subs(interface.sw_if).is_empty() {
            "has sub-interfaces: those of a bond take the frames"
        } else {
            return Ok(());
        };
        Err(Error::unsupported(format!("{} {why}", interface.name))
            .retval(retval::INVALID_INTERFACE))
    }

    /// Takes a member out of its bond. It has its own MAC address and MTU again.
    ///
    /// # Errors
    /// An interface that is no member (−71); the device's error, after the member has left.
    pub fn detach(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let (bond, mode) = {
            let mut control = self.control();
            let Some(member) = control.members.remove(&sw_if) else {
                return Err(not_a_member(world, sw_if));
            };
            let Some(bond) = control.bonds.get_mut(&member.bond) else { return Ok(()) };
            bond.members.retain(|member| *member != sw_if);
            (member.bond, bond.made.mode)
        };
        let released = self.release(world, mode, sw_if);
        self.settle(world, bond);
        world.note_config_change();
        released.and(self.follow_mtu(world, bond))
    }

    /// Gives an interface back its own settings after it was removed from the members of a bond
    /// with this mode.
    pub(crate) fn release(&self, world: &World, mode: Mode, sw_if: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        self.members.clear(sw_if.0);
        if let Some(lacp) = self.lacp_of(mode) {
            (lacp.left)(world, sw_if);
        }
        let input = self.enable_input(world, sw_if, false);
        let left = give_back(world, sw_if);
        let mtu = interfaces.get(sw_if).and_then(|interface| {
            set_member_mtu(world, &interfaces, sw_if, natural_mtu(&interface))
        });
        input.and(left).and(mtu)
    }

    /// Sets a member's weight. The active member of an active-backup bond with the highest one is
    /// the current one.
    ///
    /// # Errors
    /// An interface that is no member (−71); a bond of another mode (−73).
    pub fn set_weight(&self, world: &World, sw_if: SwIfIndex, weight: u32) -> Result<()> {
        let bond = {
            let mut control = self.control();
            match control.member_mut(sw_if) {
                None => return Err(not_a_member(world, sw_if)),
                Some((Mode::ActiveBackup, member)) => {
                    member.weight = weight;
                    member.bond
                }
                Some((mode, _)) => {
                    return Err(Error::unsupported(format!(
                        "weights are for bonds in mode active-backup, not {}",
                        mode.word()
                    ))
                    .retval(retval::INVALID_ARGUMENT));
                }
            }
        };
        self.settle(world, bond);
        world.note_config_change();
        Ok(())
    }

    fn enable_input(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
        world.set_feature("device-input", BondInput::NAME, sw_if, on).map_err(Error::failed)
    }

    /// Sets the MTU of a bond to the smallest of its members', unless an operator chose one.
    pub(crate) fn follow_mtu(&self, world: &World, bond: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        let Some(info) = self.get(bond) else { return Ok(()) };
        let of = |member: &MemberInfo| interfaces.get(member.sw_if).ok().map(|i| natural_mtu(&i));
        let natural = info.members.iter().filter_map(of).min().unwrap_or(MTU);
        let made = interfaces.get(bond)?.original;
        if made.mtu == natural {
            Ok(())
        } else {
            interfaces.note_made(world, bond, made.mac, natural)
        }
    }

    /// Gives the members of a bond the MTU that an operator chose for the bond, or else their own.
    pub(crate) fn lead_mtus(&self, world: &World, bond: SwIfIndex) -> Result<()> {
        let Some(info) = self.get(bond) else { return Ok(()) };
        let interfaces = world.get::<Interfaces>();
        let chosen = interfaces.get(bond)?.mtu.configured;
        info.members.iter().try_for_each(|member| {
            let mtu =
                chosen.map_or_else(|| interfaces.get(member.sw_if).map(|i| natural_mtu(&i)), Ok)?;
            set_member_mtu(world, &interfaces, member.sw_if, mtu)
        })
    }
}

fn not_a_member(world: &World, sw_if: SwIfIndex) -> Error {
    let name = world.get::<Interfaces>().name(sw_if);
    Error::failed(format!("{name} is no member of a bond")).retval(retval::INVALID_INTERFACE)
}

/// The link's MTU that an interface has outside of a bond.
fn natural_mtu(interface: &Interface) -> u16 {
    interface.mtu.configured.unwrap_or(interface.original.mtu)
}

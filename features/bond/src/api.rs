// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `bond`.

use crate::model::{Balance, BondInfo, MemberInfo, Mode, NewBond, Stage};
use crate::state::Bonds;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Caller, Messages, Module, retval};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};
use object::Choice;

/// The module.
pub static API: Module<World> = Module::core("bond", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: BondCreate| {
        let made = create(w, &r.into())?;
        Ok(BondCreateReply { sw_if_index: made })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BondCreate2| {
        Ok(BondCreate2Reply { sw_if_index: create(w, &r)? })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BondDelete| -> Result<()> {
        w.get::<Bonds>().delete(w, SwIfIndex(r.sw_if_index.0))
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BondEnslave| -> Result<()> {
        add(w, r.sw_if_index, r.bond_sw_if_index, r.is_passive, r.is_long_timeout)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BondAddMember| -> Result<()> {
        add(w, r.sw_if_index, r.bond_sw_if_index, r.is_passive, r.is_long_timeout)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BondDetachSlave| detach(w, r.sw_if_index));
    m.call(|w: &World, _: &Caller<'_, World>, r: BondDetachMember| detach(w, r.sw_if_index));
    m.call(|w: &World, _: &Caller<'_, World>, r: SwInterfaceSetBondWeight| -> Result<()> {
        w.get::<Bonds>().set_weight(w, SwIfIndex(r.sw_if_index.0), r.weight)
    });
    m.dump(|w: &World, _: &Caller<'_, World>, _: SwInterfaceBondDump| {
        let bonds = w.get::<Bonds>().list();
        Ok(bonds.iter().map(|bond| SwInterfaceBondDetails::of(w, bond)).collect::<Vec<_>>())
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: SwBondInterfaceDump| {
        let bonds = bonds(w, r.sw_if_index);
        Ok(bonds.iter().map(|bond| SwBondInterfaceDetails::of(w, bond)).collect::<Vec<_>>())
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: SwInterfaceSlaveDump| {
        let members = members(w, r.sw_if_index);
        Ok(members
            .into_iter()
            .map(|member| SwInterfaceSlaveDetails::of(w, &member))
            .collect::<Vec<_>>())
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: SwMemberInterfaceDump| {
        let members = members(w, r.sw_if_index);
        Ok(members
            .into_iter()
            .map(|member| SwMemberInterfaceDetails::of(w, &member))
            .collect::<Vec<_>>())
    });
}

fn create(w: &World, r: &BondCreate2) -> Result<InterfaceIndex> {
    let refused = |why: String| Error::parse(why).retval(retval::INVALID_ARGUMENT);
    let mode = Mode::ALL.iter().map(|(_, mode)| *mode).find(|mode| *mode as u32 == r.mode.0);
    let mode = mode.ok_or_else(|| refused(format!("there is no mode {}", r.mode.0)))?;
    let balance = Balance::HASHES.into_iter().find(|balance| *balance as u32 == r.lb.0);
    let balance = match balance {
        None if mode.hashes() => {
            return Err(refused(format!("there is no load balance {}", r.lb.0)));
        }
        None => Balance::L2,
        Some(balance) => balance,
    };
    let new = NewBond {
        id: Some(r.id).filter(|id| *id != u32::MAX),
        mac: r.use_custom_mac.then(|| r.mac_address.into()),
        mode,
        balance,
        numa_only: r.numa_only,
        gso: r.enable_gso,
    };
    w.get::<Bonds>().create(w, new).map(InterfaceIndex::from)
}

fn add(
    w: &World,
    member: InterfaceIndex,
    bond: InterfaceIndex,
    passive: bool,
    long_timeout: bool,
) -> Result<()> {
    w.get::<Bonds>().add_member(
        w,
        MemberInfo {
            sw_if: SwIfIndex(member.0),
            bond: SwIfIndex(bond.0),
            passive,
            long_timeout,
            weight: 0,
            stage: Stage::Idle,
        },
    )
}

fn detach(w: &World, member: InterfaceIndex) -> Result<()> {
    w.get::<Bonds>().detach(w, SwIfIndex(member.0))
}

/// The bond of this index, or all bonds.
fn bonds(w: &World, bond: InterfaceIndex) -> Vec<BondInfo> {
    let all = w.get::<Bonds>();
    bond.given().map_or_else(|| all.list(), |bond| all.get(bond).into_iter().collect())
}

/// The members of the bond of this index, or of all bonds.
fn members(w: &World, bond: InterfaceIndex) -> Vec<MemberInfo> {
    bonds(w, bond).into_iter().flat_map(|bond| bond.members).collect()
}

msg::messages! {
    /// The mode of a bond: how it uses its members.
    flags BondMode,
    /// Load balance: how the member of a frame is chosen.
    flags BondLbAlgo,
    /// Makes a bond.
    BondCreate,
    /// The new bond.
    BondCreateReply,
    /// Makes a bond.
    #[from(BondCreate)]
    BondCreate2,
    /// The new bond.
    BondCreate2Reply,
    /// Deletes a bond.
    BondDelete,
    /// Makes an interface a member of a bond.
    BondEnslave,
    /// Makes an interface a member of a bond.
    BondAddMember,
    /// Takes a member out of its bond.
    BondDetachSlave,
    /// Takes a member out of its bond.
    BondDetachMember,
    /// Asks for all bonds.
    SwInterfaceBondDump,
    /// A bond.
    #[derive(Debug, PartialEq, Eq)]
    SwInterfaceBondDetails,
    /// Asks for one bond, or for all.
    SwBondInterfaceDump,
    /// A bond.
    #[derive(Debug, PartialEq, Eq)]
    SwBondInterfaceDetails,
    /// Asks for the members of a bond.
    SwInterfaceSlaveDump,
    /// A member of a bond.
    #[derive(Debug, PartialEq, Eq)]
    SwInterfaceSlaveDetails,
    /// Asks for the members of a bond.
    SwMemberInterfaceDump,
    /// A member of a bond.
    #[derive(Debug, PartialEq, Eq)]
    SwMemberInterfaceDetails,
    /// Sets the weight of a member of an active-backup bond.
    SwInterfaceSetBondWeight,
}

impl SwInterfaceBondDetails {
    fn of(w: &World, bond: &BondInfo) -> Self {
        Self {
            sw_if_index: bond.sw_if.into(),
            id: bond.id,
            mode: BondMode(bond.made.mode as u32),
            lb: BondLbAlgo(bond.balance as u32),
            numa_only: bond.made.numa_only,
            active_slaves: bond.active.len() as u32,
            slaves: bond.members.len() as u32,
            interface_name: w.get::<Interfaces>().name(bond.sw_if).into(),
        }
    }
}

impl SwBondInterfaceDetails {
    fn of(w: &World, bond: &BondInfo) -> Self {
        let old = SwInterfaceBondDetails::of(w, bond);
        Self {
            sw_if_index: old.sw_if_index,
            id: old.id,
            mode: old.mode,
            lb: old.lb,
            numa_only: old.numa_only,
            active_members: old.active_slaves,
            members: old.slaves,
            interface_name: old.interface_name,
        }
    }
}

impl SwInterfaceSlaveDetails {
    fn of(w: &World, member: &MemberInfo) -> Self {
        Self {
            sw_if_index: member.sw_if.into(),
            interface_name: w.get::<Interfaces>().name(member.sw_if).into(),
            is_passive: member.passive,
            is_long_timeout: member.long_timeout,
            is_local_numa: true,
            weight: member.weight,
        }
    }
}

impl SwMemberInterfaceDetails {
    fn of(w: &World, member: &MemberInfo) -> Self {
        let old = SwInterfaceSlaveDetails::of(w, member);
        Self {
            sw_if_index: old.sw_if_index,
            interface_name: old.interface_name,
            is_passive: old.is_passive,
            is_long_timeout: old.is_long_timeout,
            is_local_numa: old.is_local_numa,
            weight: old.weight,
        }
    }
}

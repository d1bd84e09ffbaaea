// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `bond`.

use crate::model::{Balance, BondInfo, MemberInfo, Mode, NewBond, Stage};
use crate::state::Bonds;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, retval};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress, given};
use object::Choice;

/// The module.
pub static API: Module<World> = Module::core("bond", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: BondCreate| create(w, r.into()));
    m.call(create);
    m.call(|w, r: BondDelete| w.get::<Bonds>().delete(w, SwIfIndex(r.sw_if_index.0)));
    m.call(|w, r: BondEnslave| add(w, r.into()));
    m.call(add);
    m.call(|w, r: BondDetachSlave| w.get::<Bonds>().detach(w, SwIfIndex(r.sw_if_index.0)));
    m.call(|w, r: BondDetachMember| w.get::<Bonds>().detach(w, SwIfIndex(r.sw_if_index.0)));
    m.call(|w, r: SwInterfaceSetBondWeight| {
        w.get::<Bonds>().set_weight(w, SwIfIndex(r.sw_if_index.0), r.weight)
    });
    m.dump(|w, _: SwInterfaceBondDump| Ok(dump(w, InterfaceIndex::NONE)));
    m.dump(|w, r: SwBondInterfaceDump| Ok(dump(w, r.sw_if_index)));
    m.dump(|w, r: SwInterfaceSlaveDump| Ok(members(w, r.sw_if_index)));
    m.dump(|w, r: SwMemberInterfaceDump| Ok(members(w, r.sw_if_index)));
}

fn create(w: &World, r: BondCreate2) -> Result<SwIfIndex> {
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
        id: given(r.id),
        mac: r.use_custom_mac.then(|| r.mac_address.into()),
        mode,
        balance,
        numa_only: r.numa_only,
        gso: r.enable_gso,
    };
    w.get::<Bonds>().create(w, new)
}

fn add(w: &World, r: BondAddMember) -> Result<()> {
    let member = MemberInfo {
        sw_if: SwIfIndex(r.sw_if_index.0),
        bond: SwIfIndex(r.bond_sw_if_index.0),
        passive: r.is_passive,
        long_timeout: r.is_long_timeout,
        weight: 0,
        stage: Stage::Idle,
    };
    w.get::<Bonds>().add_member(w, member)
}

/// The bond of this index, or all bonds.
fn bonds(w: &World, bond: InterfaceIndex) -> Vec<BondInfo> {
    let all = w.get::<Bonds>();
    bond.given().map_or_else(|| all.list(), |bond| all.get(bond).into_iter().collect())
}

fn dump(w: &World, bond: InterfaceIndex) -> Vec<SwBondInterfaceDetails> {
    let details = |bond: BondInfo| SwBondInterfaceDetails {
        sw_if_index: bond.sw_if.into(),
        id: bond.id,
        mode: BondMode(bond.made.mode as u32),
        lb: BondLbAlgo(bond.balance as u32),
        numa_only: bond.made.numa_only,
        active_members: bond.active.len() as u32,
        members: bond.members.len() as u32,
        interface_name: w.get::<Interfaces>().name(bond.sw_if).into(),
    };
    bonds(w, bond).into_iter().map(details).collect()
}

/// The members of the bond of this index, or of all bonds.
fn members(w: &World, bond: InterfaceIndex) -> Vec<SwMemberInterfaceDetails> {
    let details = |member: MemberInfo| SwMemberInterfaceDetails {
        sw_if_index: member.sw_if.into(),
        interface_name: w.get::<Interfaces>().name(member.sw_if).into(),
        is_passive: member.passive,
        is_long_timeout: member.long_timeout,
        is_local_numa: true,
        weight: member.weight,
    };
    bonds(w, bond).into_iter().flat_map(|bond| bond.members).map(details).collect()
}

msg::messages! {
    /// The mode of a bond: how it uses its members.
    flags BondMode,
    /// Load balance: how the member of a frame is chosen.
    flags BondLbAlgo,
    /// Makes a bond.
    BondCreate,
    /// Makes a bond.
    #[from(BondCreate)]
    BondCreate2,
    /// Deletes a bond.
    BondDelete,
    /// Makes an interface a member of a bond.
    BondEnslave,
    /// Makes an interface a member of a bond.
    #[from(BondEnslave)]
    BondAddMember,
    /// Takes a member out of its bond.
    BondDetachSlave,
    /// Takes a member out of its bond.
    BondDetachMember,
    /// Asks for all bonds.
    SwInterfaceBondDump,
    /// A bond.
    #[from(SwBondInterfaceDetails, active_slaves = active_members, slaves = members)]
    SwInterfaceBondDetails,
    /// Asks for one bond, or for all.
    SwBondInterfaceDump,
    /// A bond.
    SwBondInterfaceDetails,
    /// Asks for the members of a bond.
    SwInterfaceSlaveDump,
    /// A member of a bond.
    #[from(SwMemberInterfaceDetails)]
    SwInterfaceSlaveDetails,
    /// Asks for the members of a bond.
    SwMemberInterfaceDump,
    /// A member of a bond.
    SwMemberInterfaceDetails,
    /// Sets the weight of a member of an active-backup bond.
    SwInterfaceSetBondWeight,
}

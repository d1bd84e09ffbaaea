// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `bond`.

use crate::model::{Balance, BondInfo, MemberInfo, Mode, NewBond, Stage};
use crate::state::Bonds;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module, Str, retval};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> =
    Module { name: "bond", version: "2.1.0", crc: 0xa03f_5330, core: true, messages };

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
    let mode = Mode::ALL.into_iter().find(|mode| *mode as u32 == r.mode.0);
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

msg::flags! {
    /// The mode of a bond: how it uses its members.
    pub struct BondMode: u32 = enum "bond_mode" {
        ROUND_ROBIN = 1 => "BOND_API_MODE_ROUND_ROBIN",
        ACTIVE_BACKUP = 2 => "BOND_API_MODE_ACTIVE_BACKUP",
        XOR = 3 => "BOND_API_MODE_XOR",
        BROADCAST = 4 => "BOND_API_MODE_BROADCAST",
        LACP = 5 => "BOND_API_MODE_LACP",
    }
}

msg::flags! {
    /// Load balance: how the member of a frame is chosen.
    pub struct BondLbAlgo: u32 = enum "bond_lb_algo" {
        L2 = 0 => "BOND_API_LB_ALGO_L2",
        L34 = 1 => "BOND_API_LB_ALGO_L34",
        L23 = 2 => "BOND_API_LB_ALGO_L23",
        RR = 3 => "BOND_API_LB_ALGO_RR",
        BC = 4 => "BOND_API_LB_ALGO_BC",
        AB = 5 => "BOND_API_LB_ALGO_AB",
    }
}

/// Makes a bond.
#[derive(Message)]
#[msg(reply)]
pub struct BondCreate {
    /// The number in its name; all bits set: the first that is free.
    #[wire(default = "4294967295")]
    pub id: u32,
    /// The MAC address is given.
    pub use_custom_mac: bool,
    /// Its MAC address.
    pub mac_address: MacAddress,
    /// Mode of the bond.
    pub mode: BondMode,
    /// The fields that the hash of a frame covers, in the modes xor and lacp.
    pub lb: BondLbAlgo,
    /// Only members on the local NUMA node send.
    pub numa_only: bool,
}

/// The new bond.
#[derive(Message)]
pub struct BondCreateReply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// Makes a bond.
#[derive(Message)]
#[msg(reply)]
pub struct BondCreate2 {
    /// Mode of the bond.
    pub mode: BondMode,
    /// The fields that the hash of a frame covers, in the modes xor and lacp.
    pub lb: BondLbAlgo,
    /// Only members on the local NUMA node send.
    pub numa_only: bool,
    /// Super-packets may be sent.
    pub enable_gso: bool,
    /// The MAC address is given.
    pub use_custom_mac: bool,
    /// Its MAC address.
    pub mac_address: MacAddress,
    /// The number in its name; all bits set: the first that is free.
    #[wire(default = "4294967295")]
    pub id: u32,
}

/// The new bond.
#[derive(Message)]
pub struct BondCreate2Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

impl From<BondCreate> for BondCreate2 {
    fn from(old: BondCreate) -> Self {
        let BondCreate { id, use_custom_mac, mac_address, mode, lb, numa_only } = old;
        Self { mode, lb, numa_only, enable_gso: false, use_custom_mac, mac_address, id }
    }
}

/// Deletes a bond.
#[derive(Message)]
pub struct BondDelete {
    /// The bond.
    pub sw_if_index: InterfaceIndex,
}

/// Makes an interface a member of a bond.
#[derive(Message)]
pub struct BondEnslave {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The bond.
    pub bond_sw_if_index: InterfaceIndex,
    /// LACP: wait for an LACPDU of the partner.
    pub is_passive: bool,
    /// LACP: ask the partner for a data unit each 30 seconds.
    pub is_long_timeout: bool,
}

/// Makes an interface a member of a bond.
#[derive(Message)]
pub struct BondAddMember {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The bond.
    pub bond_sw_if_index: InterfaceIndex,
    /// LACP: wait for an LACPDU of the partner.
    pub is_passive: bool,
    /// LACP: ask the partner for a data unit each 30 seconds.
    pub is_long_timeout: bool,
}

/// Takes a member out of its bond.
#[derive(Message)]
pub struct BondDetachSlave {
    /// The member.
    pub sw_if_index: InterfaceIndex,
}

/// Takes a member out of its bond.
#[derive(Message)]
pub struct BondDetachMember {
    /// The member.
    pub sw_if_index: InterfaceIndex,
}

/// Asks for all bonds.
#[derive(Message)]
#[msg(details)]
pub struct SwInterfaceBondDump {}

/// A bond.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct SwInterfaceBondDetails {
    /// The bond.
    pub sw_if_index: InterfaceIndex,
    /// The number in its name.
    pub id: u32,
    /// Mode of the bond.
    pub mode: BondMode,
    /// Load balance: the hash or rule that selects the member of a frame.
    pub lb: BondLbAlgo,
    /// Only members on the local NUMA node send.
    pub numa_only: bool,
    /// Number of active members.
    pub active_slaves: u32,
    /// Number of members.
    pub slaves: u32,
    /// Its name.
    pub interface_name: Str<64>,
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

/// Asks for one bond, or for all.
#[derive(Message)]
#[msg(details)]
pub struct SwBondInterfaceDump {
    /// The bond; all bits set: all.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
}

/// A bond.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct SwBondInterfaceDetails {
    /// The bond.
    pub sw_if_index: InterfaceIndex,
    /// The number in its name.
    pub id: u32,
    /// Mode of the bond.
    pub mode: BondMode,
    /// Load balance: the hash or rule that selects the member of a frame.
    pub lb: BondLbAlgo,
    /// Only members on the local NUMA node send.
    pub numa_only: bool,
    /// Number of active members.
    pub active_members: u32,
    /// Number of members.
    pub members: u32,
    /// Its name.
    pub interface_name: Str<64>,
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

/// Asks for the members of a bond.
#[derive(Message)]
#[msg(details)]
pub struct SwInterfaceSlaveDump {
    /// The bond; all bits set: all bonds.
    pub sw_if_index: InterfaceIndex,
}

/// A member of a bond.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct SwInterfaceSlaveDetails {
    /// The member.
    pub sw_if_index: InterfaceIndex,
    /// Its name.
    pub interface_name: Str<64>,
    /// LACP: it waits for an LACPDU of the partner.
    pub is_passive: bool,
    /// LACP: it asks the partner for a data unit each 30 seconds.
    pub is_long_timeout: bool,
    /// It is on the local NUMA node.
    pub is_local_numa: bool,
    /// Its weight.
    pub weight: u32,
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

/// Asks for the members of a bond.
#[derive(Message)]
#[msg(details)]
pub struct SwMemberInterfaceDump {
    /// The bond; all bits set: all bonds.
    pub sw_if_index: InterfaceIndex,
}

/// A member of a bond.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct SwMemberInterfaceDetails {
    /// The member.
    pub sw_if_index: InterfaceIndex,
    /// Its name.
    pub interface_name: Str<64>,
    /// LACP: it waits for an LACPDU of the partner.
    pub is_passive: bool,
    /// LACP: it asks the partner for a data unit each 30 seconds.
    pub is_long_timeout: bool,
    /// It is on the local NUMA node.
    pub is_local_numa: bool,
    /// Its weight.
    pub weight: u32,
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

/// Sets the weight of a member of an active-backup bond.
#[derive(Message)]
pub struct SwInterfaceSetBondWeight {
    /// The member.
    pub sw_if_index: InterfaceIndex,
    /// The active member with the highest one is used.
    pub weight: u32,
}

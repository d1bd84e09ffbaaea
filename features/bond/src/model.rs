// SPDX-License-Identifier: Apache-2.0
//! Bonds and members.

use graph::{SwIfIndex, World};
use object::{Arguments, Choice};
use wire::MacAddr;

/// The mode of a bond: how it uses its members, with VPP's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Frames leave by the members in turn.
    RoundRobin = 1,
    /// Frames leave and come in by one member. The others wait.
    ActiveBackup = 2,
    /// Each frame leaves by the member that its hash selects.
    Xor = 3,
    /// Each frame leaves by all members.
    Broadcast = 4,
    /// As `Xor`, among the members that LACP has brought into the bond.
    Lacp = 5,
}

impl Choice for Mode {
    const ALL: &'static [(&'static str, Self)] = &[
        ("round-robin", Self::RoundRobin),
        ("active-backup", Self::ActiveBackup),
        ("xor", Self::Xor),
        ("broadcast", Self::Broadcast),
        ("lacp", Self::Lacp),
    ];
}

impl Mode {
    /// Returns true if a hash selects the member.
    pub const fn hashes(self) -> bool {
        matches!(self, Self::Xor | Self::Lacp)
    }
}

/// Load balance: the fields that the hash of a frame covers, or the mode without a hash; with VPP's
/// numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Balance {
    /// MAC addresses.
    L2 = 0,
    /// IP addresses and ports.
    L34 = 1,
    /// MAC and IP addresses.
    L23 = 2,
    /// Members in turn.
    RoundRobin = 3,
    /// All members.
    Broadcast = 4,
    /// The current member.
    ActiveBackup = 5,
}

impl Choice for Balance {
    const ALL: &'static [(&'static str, Self)] = &[
        ("l2", Self::L2),
        ("l34", Self::L34),
        ("l23", Self::L23),
        ("round-robin", Self::RoundRobin),
        ("broadcast", Self::Broadcast),
        ("active-backup", Self::ActiveBackup),
    ];
}

impl Balance {
    /// Load balances with a hash, of which a bond can be given one.
    pub const HASHES: [Self; 3] = [Self::L2, Self::L23, Self::L34];

    /// The balance of a mode, with the hash for modes that use one.
    pub const fn of(mode: Mode, hash: Self) -> Self {
        match mode {
            Mode::RoundRobin => Self::RoundRobin,
            Mode::ActiveBackup => Self::ActiveBackup,
            Mode::Broadcast => Self::Broadcast,
            Mode::Xor | Mode::Lacp => hash,
        }
    }
}

/// Settings of a new bond.
#[derive(Arguments, Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewBond {
    /// Mode of the bond.
    #[words("mode <mode:round-robin|active-backup|xor|broadcast|lacp>")]
    pub mode: Mode,
    /// Fields that the hash covers. Has no effect in modes without a hash.
    #[words("[load-balance <balance:l2|l23|l34>]", default = Balance::L2)]
    pub balance: Balance,
    /// Only members on the local NUMA node send. Has no effect: all members count as local.
    #[words("[numa-only]")]
    pub numa_only: bool,
    /// Its MAC address; `None` for the first member's.
    #[words("[hw-addr <mac:mac>]")]
    pub mac: Option<MacAddr>,
    /// The number in its name; `None` for the first that is free.
    #[words("[id <id:u32>]")]
    pub id: Option<u32>,
    /// GSO packets may be sent. Has no effect: they always may, since interfaces without
    /// segmentation offload segment them.
    #[words("[gso]")]
    pub gso: bool,
}

impl NewBond {
    /// A bond of this mode.
    pub const fn of(mode: Mode) -> Self {
        Self { id: None, mac: None, mode, balance: Balance::L2, numa_only: false, gso: false }
    }
}

/// A bond.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BondInfo {
    /// The bond.
    pub sw_if: SwIfIndex,
    /// The number in its name.
    pub id: u32,
    /// Settings that it was created with.
    pub made: NewBond,
    /// Load balance in force: that of the mode, or the one it was created with.
    pub balance: Balance,
    /// Active members, in the order of the hash; in mode active-backup the current one first.
    pub active: Vec<SwIfIndex>,
    /// All members, in the order in which they joined.
    pub members: Vec<MemberInfo>,
}

/// A member of a bond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberInfo {
    /// The member.
    pub sw_if: SwIfIndex,
    /// Its bond.
    pub bond: SwIfIndex,
    /// LACP: sends nothing until the partner has sent an LACPDU.
    pub passive: bool,
    /// LACP: asks the partner for an LACPDU each 30 seconds, not each second.
    pub long_timeout: bool,
    /// Active-backup: the member with the highest weight is preferred.
    pub weight: u32,
    /// LACP stage of the member in the bond.
    pub stage: Stage,
}

/// The stage of a member in its LACP bond (IEEE 802.1AX-2014 6.4.15, independent control).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Stage {
    /// It neither receives nor sends frames.
    #[default]
    Idle,
    /// It receives frames, and sends none, since the partner isn't collecting yet.
    Collecting,
    /// It receives and sends frames.
    Distributing,
}

/// Calls of the feature that runs LACP, for members of bonds in mode `lacp`.
#[derive(Clone, Copy, Debug)]
pub struct Lacp {
    /// A member has joined.
    pub joined: fn(&World, &MemberInfo),
    /// A member has left, or is being deleted.
    pub left: fn(&World, SwIfIndex),
}

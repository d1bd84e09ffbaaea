// SPDX-License-Identifier: Apache-2.0
//! Return values of the binary API: one for each reason why something can't be done, with VPP's numbers.

/// Why something wasn't done, as VPP's clients know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Retval(i32);

impl Retval {
    /// The number in replies, below zero.
    pub const fn code(self) -> i32 {
        self.0
    }
}

/// What has no number of its own.
pub const UNSPECIFIED: Retval = Retval(-1);
/// No such interface.
pub const INVALID_SW_IF_INDEX: Retval = Retval(-2);
/// No such table.
pub const NO_SUCH_FIB: Retval = Retval(-3);
/// No such thing.
pub const NO_SUCH_ENTRY: Retval = Retval(-6);
/// A value that can't be.
pub const INVALID_VALUE: Retval = Retval(-7);
/// Not built in.
pub const UNIMPLEMENTED: Retval = Retval(-9);
/// No such interface, of the second one that is named.
pub const INVALID_SW_IF_INDEX_2: Retval = Retval(-10);
/// The system refused.
pub const SYSCALL_ERROR_1: Retval = Retval(-11);
/// Not for an interface of this kind.
pub const FEATURE_DISABLED: Retval = Retval(-30);
/// A number that is taken.
pub const INVALID_REGISTRATION: Retval = Retval(-31);
/// No way there.
pub const UNKNOWN_DESTINATION: Retval = Retval(-51);
/// A route without a path.
pub const NO_PATHS_IN_ROUTE: Retval = Retval(-52);
/// No address to send from.
pub const INVALID_SRC_ADDRESS: Retval = Retval(-57);
/// No address of one host.
pub const INVALID_DST_ADDRESS: Retval = Retval(-58);
/// A network that has no such length.
pub const ADDRESS_LENGTH_MISMATCH: Retval = Retval(-59);
/// An interface hasn't got this address.
pub const ADDRESS_NOT_FOUND_FOR_INTERFACE: Retval = Retval(-60);
/// An address that every interface with IPv6 has.
pub const ADDRESS_NOT_DELETABLE: Retval = Retval(-61);
/// No such node.
pub const NO_SUCH_NODE: Retval = Retval(-63);
/// No such node, of the second one that is named.
pub const NO_SUCH_NODE2: Retval = Retval(-64);
/// No such table, of those that aren't looked up for packets of an interface.
pub const NO_SUCH_TABLE: Retval = Retval(-65);
/// Too few bytes, or too many.
pub const INVALID_MEMORY_SIZE: Retval = Retval(-70);
/// No interface of the host's, or one that can't be used so.
pub const INVALID_INTERFACE: Retval = Retval(-71);
/// An interface is in a state that doesn't allow it.
pub const UNEXPECTED_INTF_STATE: Retval = Retval(-74);
/// There is an interface of that name.
pub const IF_ALREADY_EXISTS: Retval = Retval(-79);
/// There is one already.
pub const VALUE_EXIST: Retval = Retval(-81);
/// No such worker.
pub const INVALID_WORKER: Retval = Retval(-89);
/// The file can't be made, or is there.
pub const CANNOT_CREATE_PCAP_FILE: Retval = Retval(-93);
/// More ranges than there is room for.
pub const EXCEEDED_NUMBER_OF_RANGES_CAPACITY: Retval = Retval(-95);
/// A table is full.
pub const TABLE_TOO_BIG: Retval = Retval(-99);
/// An address, or its network, is another's.
pub const ADDRESS_IN_USE: Retval = Retval(-105);
/// An interface still has addresses.
pub const ADDRESS_FOUND_FOR_INTERFACE: Retval = Retval(-114);
/// No such queue.
pub const INVALID_QUEUE: Retval = Retval(-125);
/// Not possible with this.
pub const UNSUPPORTED: Retval = Retval(-126);
/// An IPv6 address, or its network, is another's.
pub const DUPLICATE_IF_ADDRESS: Retval = Retval(-127);
/// An interface that carries no Ethernet frames.
pub const NON_ETHERNET: Retval = Retval(-151);
/// Not of this protocol.
pub const INVALID_PROTOCOL: Retval = Retval(-153);
/// Somebody needs it.
pub const RSRC_IN_USE: Retval = Retval(-155);
/// As many as there may be.
pub const LIMIT_EXCEEDED: Retval = Retval(-162);
/// A UDP port that another feature has.
pub const UDP_PORT_TAKEN: Retval = Retval(-164);
/// A stream that goes on at the cursor.
pub const EAGAIN: Retval = Retval(-165);

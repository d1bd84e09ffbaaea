// SPDX-License-Identifier: Apache-2.0
//! Return values of failed requests to the binary API, with VPP's numbers.

/// A return value. Only the constants of this module exist, so a bare number can't be one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Retval(i32);

impl Retval {
    /// The number in replies; only [`UNCHANGED`] is above zero.
    pub const fn code(self) -> i32 {
        self.0
    }
}

/// The plugin is enabled already, or disabled: VPP's DET44 and NAT66 answer with this number.
pub const UNCHANGED: Retval = Retval(1);
/// An error without a number of its own.
pub const UNSPECIFIED: Retval = Retval(-1);
/// No interface has this index.
pub const INVALID_SW_IF_INDEX: Retval = Retval(-2);
/// No route table has this id.
pub const NO_SUCH_FIB: Retval = Retval(-3);
/// There is no such table for packets that come out of a tunnel.
pub const NO_SUCH_INNER_FIB: Retval = Retval(-4);
/// The entry doesn't exist.
pub const NO_SUCH_ENTRY: Retval = Retval(-6);
/// A value is out of range or invalid.
pub const INVALID_VALUE: Retval = Retval(-7);
/// A second value is out of range or invalid.
pub const INVALID_VALUE_2: Retval = Retval(-8);
/// The request isn't implemented.
pub const UNIMPLEMENTED: Retval = Retval(-9);
/// No interface has the index in the request's second interface field.
pub const INVALID_SW_IF_INDEX_2: Retval = Retval(-10);
/// A system call failed.
pub const SYSCALL_ERROR_1: Retval = Retval(-11);
/// As [`SYSCALL_ERROR_1`], of another call; of memif: the mode.
pub const SYSCALL_ERROR_2: Retval = Retval(-12);
/// As [`SYSCALL_ERROR_1`], of another call; of AF_XDP: the map of sockets.
pub const SYSCALL_ERROR_3: Retval = Retval(-13);
/// As [`SYSCALL_ERROR_1`], of another call; of memif: the socket.
pub const SYSCALL_ERROR_4: Retval = Retval(-14);
/// As [`SYSCALL_ERROR_1`], of another call; of AF_XDP: to open the program.
pub const SYSCALL_ERROR_5: Retval = Retval(-15);
/// As [`SYSCALL_ERROR_1`], of another call; of AF_XDP: to attach the program.
pub const SYSCALL_ERROR_6: Retval = Retval(-16);
/// As [`SYSCALL_ERROR_1`], of another call; of AF_XDP: the queues of the netdev.
pub const SYSCALL_ERROR_7: Retval = Retval(-17);
/// As [`SYSCALL_ERROR_1`], of another call; of AF_XDP: to open the namespace.
pub const SYSCALL_ERROR_8: Retval = Retval(-18);
/// As [`SYSCALL_ERROR_1`], of another call; of AF_XDP: to enter the namespace.
pub const SYSCALL_ERROR_9: Retval = Retval(-19);
/// The feature isn't available on this interface.
pub const FEATURE_DISABLED: Retval = Retval(-30);
/// The registration is invalid, for example because the number is taken.
pub const INVALID_REGISTRATION: Retval = Retval(-31);
/// No route leads to the destination.
pub const UNKNOWN_DESTINATION: Retval = Retval(-51);
/// A route without paths.
pub const NO_PATHS_IN_ROUTE: Retval = Retval(-52);
/// No VLAN has this id.
pub const INVALID_VLAN: Retval = Retval(-55);
/// The interface has a sub-interface of this number.
pub const VLAN_ALREADY_EXISTS: Retval = Retval(-56);
/// There is no source address for packets, or it is invalid.
pub const INVALID_SRC_ADDRESS: Retval = Retval(-57);
/// The destination isn't the address of one host.
pub const INVALID_DST_ADDRESS: Retval = Retval(-58);
/// The prefix length doesn't fit the address.
pub const ADDRESS_LENGTH_MISMATCH: Retval = Retval(-59);
/// The interface doesn't have this address.
pub const ADDRESS_NOT_FOUND_FOR_INTERFACE: Retval = Retval(-60);
/// The address can't be removed: each interface with IPv6 has it.
pub const ADDRESS_NOT_DELETABLE: Retval = Retval(-61);
/// No node has this name.
pub const NO_SUCH_NODE: Retval = Retval(-63);
/// No node has the name in the request's second node field.
pub const NO_SUCH_NODE2: Retval = Retval(-64);
/// No table has this id, in requests of features with tables of their own or of encapsulations.
pub const NO_SUCH_TABLE: Retval = Retval(-65);
/// No table has the index in the request's second table field.
pub const NO_SUCH_TABLE2: Retval = Retval(-66);
/// No table has the index in the request's third table field.
pub const NO_SUCH_TABLE3: Retval = Retval(-67);
/// There is such a part of an interface already.
pub const SUBIF_ALREADY_EXISTS: Retval = Retval(-68);
/// A size in bytes is out of range.
pub const INVALID_MEMORY_SIZE: Retval = Retval(-70);
/// The host has no such interface, or it can't be used.
pub const INVALID_INTERFACE: Retval = Retval(-71);
/// Frames of the interface don't have so many VLAN tags.
pub const INVALID_VLAN_TAG_COUNT: Retval = Retval(-72);
/// An argument is invalid.
pub const INVALID_ARGUMENT: Retval = Retval(-73);
/// The state of the interface doesn't allow the request.
pub const UNEXPECTED_INTF_STATE: Retval = Retval(-74);
/// A tunnel with these ends exists.
pub const TUNNEL_EXIST: Retval = Retval(-75);
/// Packets of the tunnel can't go to this node.
pub const INVALID_DECAP_NEXT: Retval = Retval(-76);
/// An interface of this name exists.
pub const IF_ALREADY_EXISTS: Retval = Retval(-79);
/// The interface is a member of a bond, which excludes the request.
pub const BOND_MEMBER_NOT_ALLOWED: Retval = Retval(-80);
/// The value or entry exists.
pub const VALUE_EXIST: Retval = Retval(-81);
/// Source and destination are the same.
pub const SAME_SRC_DST: Retval = Retval(-82);
/// No worker has this index.
pub const INVALID_WORKER: Retval = Retval(-89);
/// The classifier has no such table.
pub const CLASSIFY_TABLE_NOT_FOUND: Retval = Retval(-91);
/// The capture file can't be created, or exists.
pub const CANNOT_CREATE_PCAP_FILE: Retval = Retval(-93);
/// The table has no room for more ranges.
pub const EXCEEDED_NUMBER_OF_RANGES_CAPACITY: Retval = Retval(-95);
/// The address is of a protocol that the request can't be made for.
pub const INVALID_ADDRESS_FAMILY: Retval = Retval(-97);
/// The interface isn't a sub-interface.
pub const INVALID_SUB_SW_IF_INDEX: Retval = Retval(-98);
/// A table is full.
pub const TABLE_TOO_BIG: Retval = Retval(-99);
/// There is such a BFD session already.
pub const BFD_EXIST: Retval = Retval(-101);
/// There is no such BFD session or key.
pub const BFD_NO_SUCH_OBJECT: Retval = Retval(-102);
/// A BFD session uses the key.
pub const BFD_IN_USE: Retval = Retval(-103);
/// BFD doesn't implement the type of authentication.
pub const BFD_NOT_SUPPORTED: Retval = Retval(-104);
/// Another interface has the address or its network.
pub const ADDRESS_IN_USE: Retval = Retval(-105);
/// The interface still has addresses.
pub const ADDRESS_FOUND_FOR_INTERFACE: Retval = Retval(-114);
/// There is such an entry already.
pub const ENTRY_ALREADY_EXISTS: Retval = Retval(-116);
/// There is a bridge domain with this id already.
pub const BD_ALREADY_EXISTS: Retval = Retval(-119);
/// The bridge domain has members.
pub const BD_IN_USE: Retval = Retval(-120);
/// Bridge domain 0 can't be changed.
pub const BD_NOT_MODIFIABLE: Retval = Retval(-121);
/// The id of a bridge domain is too large.
pub const BD_ID_EXCEED_MAX: Retval = Retval(-122);
/// Another client is notified of MAC addresses.
pub const L2_MACS_EVENT_CLIENT_PRESENT: Retval = Retval(-124);
/// No queue has this index.
pub const INVALID_QUEUE: Retval = Retval(-125);
/// The object doesn't support the request.
pub const UNSUPPORTED: Retval = Retval(-126);
/// Another interface has the IPv6 address or its network.
pub const DUPLICATE_IF_ADDRESS: Retval = Retval(-127);
/// The text is no name.
pub const ILLEGAL_NAME: Retval = Retval(-133);
/// There is no DNS server to ask.
pub const NO_NAME_SERVERS: Retval = Retval(-134);
/// The address is no DNS server's.
pub const NAME_SERVER_NOT_FOUND: Retval = Retval(-135);
/// DNS is disabled.
pub const NAME_RESOLUTION_NOT_ENABLED: Retval = Retval(-136);
/// DNS servers can't read the question.
pub const NAME_SERVER_FORMAT_ERROR: Retval = Retval(-137);
/// DNS has no such name.
pub const NAME_SERVER_NO_SUCH_NAME: Retval = Retval(-138);
/// The name has no addresses.
pub const NAME_SERVER_NO_ADDRESSES: Retval = Retval(-139);
/// No DNS server answers.
pub const NAME_SERVER_NEXT_SERVER: Retval = Retval(-140);
/// The ACL is in the input list of an interface.
pub const ACL_IN_USE_INBOUND: Retval = Retval(-142);
/// The ACL is in the output list of an interface.
pub const ACL_IN_USE_OUTBOUND: Retval = Retval(-143);
/// It can't start: something that it needs is missing.
pub const INIT_FAILED: Retval = Retval(-144);
/// Another feature uses the ACL.
pub const ACL_IN_USE_BY_LOOKUP_CONTEXT: Retval = Retval(-149);
/// Another interface has the number.
pub const INSTANCE_IN_USE: Retval = Retval(-147);
/// There is no such sub-interface.
pub const SUBIF_DOESNT_EXIST: Retval = Retval(-123);
/// The number of a session is out of range.
pub const INVALID_SESSION_ID: Retval = Retval(-148);
/// The interface carries no Ethernet frames.
pub const NON_ETHERNET: Retval = Retval(-151);
/// The bridge domain has a BVI already.
pub const BD_ALREADY_HAS_BVI: Retval = Retval(-152);
/// The protocol is wrong, for example addresses of two protocols.
pub const INVALID_PROTOCOL: Retval = Retval(-153);
/// The object is in use.
pub const RSRC_IN_USE: Retval = Retval(-155);
/// A limit is reached.
pub const LIMIT_EXCEEDED: Retval = Retval(-162);
/// Another feature uses the UDP port.
pub const UDP_PORT_TAKEN: Retval = Retval(-164);
/// The answer goes on: ask again with the cursor.
pub const EAGAIN: Retval = Retval(-165);
/// The feature is disabled already.
pub const FEATURE_ALREADY_DISABLED: Retval = Retval(-169);
/// The feature is enabled already.
pub const FEATURE_ALREADY_ENABLED: Retval = Retval(-170);

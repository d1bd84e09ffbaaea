// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vhost_user`.

use crate::control::{self, Create, Vhosts};
use crate::device::{Config, VhostDevice};
use crate::proto::{Features, Session};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module, Str};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> =
    Module { name: "vhost_user", version: "4.1.1", crc: 0xd49a_e8cd, core: false, messages };

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: CreateVhostUserIf| {
        Ok(CreateVhostUserIfReply { sw_if_index: create(w, r.into())?.into() })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: CreateVhostUserIfV2| {
        Ok(CreateVhostUserIfV2Reply { sw_if_index: create(w, r)?.into() })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: ModifyVhostUserIf| modify(w, r.into()));
    m.call(|w: &World, _: &Caller<'_, World>, r: ModifyVhostUserIfV2| modify(w, r));
    m.call(|w: &World, _: &Caller<'_, World>, r: DeleteVhostUserIf| {
        control::delete(w, r.sw_if_index.existing(w)?)
    });
    m.dump(|w: &World, _: &Caller<'_, World>, r: SwInterfaceVhostUserDump| {
        let vhosts = w.get::<Vhosts>();
        let devices = match r.sw_if_index.0 {
            u32::MAX => vhosts.devices(),
            index => vec![vhosts.expect(w, SwIfIndex(index))?],
        };
        Ok(devices.iter().filter_map(|device| details(w, device)).collect::<Vec<_>>())
    });
}

macro_rules! create {
    ($(#[$doc:meta])* $name:ident { $($event_idx:tt)* }) => {
        $(#[$doc])*
        #[derive(Message)]
        #[msg(reply)]
        pub struct $name {
            /// Listen at the socket.
            pub is_server: bool,
            /// Path of the socket.
            pub sock_filename: Str<256>,
            /// Use the number below.
            pub renumber: bool,
            /// Don't offer receive buffers that are merged.
            pub disable_mrg_rxbuf: bool,
            /// Don't offer tables of descriptors.
            pub disable_indirect_desc: bool,
            /// Leave checksums and segmentation to the other end.
            pub enable_gso: bool,
            /// Offer packed rings.
            pub enable_packed: bool,
            $($event_idx)*
            /// Number in the name.
            pub custom_dev_instance: u32,
            /// Use the address below.
            pub use_custom_mac: bool,
            /// The address.
            pub mac_address: MacAddress,
            /// The tag.
            pub tag: Str<64>,
        }
    };
}

create! {
    /// Makes an interface to a virtual machine; `create_vhost_user_if_v2` is newer.
    CreateVhostUserIf {}
}

create! {
    /// Makes an interface to a virtual machine.
    CreateVhostUserIfV2 {
        /// Offer events by index.
        pub enable_event_idx: bool,
    }
}

impl From<CreateVhostUserIf> for CreateVhostUserIfV2 {
    fn from(r: CreateVhostUserIf) -> Self {
        Self {
            is_server: r.is_server,
            sock_filename: r.sock_filename,
            renumber: r.renumber,
            disable_mrg_rxbuf: r.disable_mrg_rxbuf,
            disable_indirect_desc: r.disable_indirect_desc,
            enable_gso: r.enable_gso,
            enable_packed: r.enable_packed,
            enable_event_idx: false,
            custom_dev_instance: r.custom_dev_instance,
            use_custom_mac: r.use_custom_mac,
            mac_address: r.mac_address,
            tag: r.tag,
        }
    }
}

/// The new interface.
#[derive(Message)]
pub struct CreateVhostUserIfReply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// The new interface.
#[derive(Message)]
pub struct CreateVhostUserIfV2Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

fn create(w: &World, r: CreateVhostUserIfV2) -> Result<SwIfIndex> {
    let mut disabled = 0;
    if r.disable_mrg_rxbuf {
        disabled |= Features::MRG_RXBUF.bits();
    }
    if r.disable_indirect_desc {
        disabled |= Features::INDIRECT_DESC.bits();
    }
    let config = Config {
        socket: r.sock_filename.0,
        is_server: r.is_server,
        feature_mask: !disabled,
        gso: r.enable_gso,
        packed: r.enable_packed,
        event_idx: r.enable_event_idx,
    };
    let mac = r.use_custom_mac.then(|| wire::MacAddr::from(r.mac_address));
    let instance = r.renumber.then_some(r.custom_dev_instance);
    control::create(w, Create { config, instance, mac, tag: r.tag.0 })
}

macro_rules! modify {
    ($(#[$doc:meta])* $name:ident { $($event_idx:tt)* }) => {
        $(#[$doc])*
        #[derive(Message)]
        pub struct $name {
            /// The interface.
            pub sw_if_index: InterfaceIndex,
            /// Listen at the socket.
            pub is_server: bool,
            /// Path of the socket.
            pub sock_filename: Str<256>,
            /// Use the number below.
            pub renumber: bool,
            /// Leave checksums and segmentation to the other end.
            pub enable_gso: bool,
            /// Offer packed rings.
            pub enable_packed: bool,
            $($event_idx)*
            /// Number in the name.
            pub custom_dev_instance: u32,
        }
    };
}

modify! {
    /// Changes the socket and the features of an interface; `modify_vhost_user_if_v2` is newer.
    ModifyVhostUserIf {}
}

modify! {
    /// Changes the socket and the features of an interface. Its connection ends.
    ModifyVhostUserIfV2 {
        /// Offer events by index.
        pub enable_event_idx: bool,
    }
}

impl From<ModifyVhostUserIf> for ModifyVhostUserIfV2 {
    fn from(r: ModifyVhostUserIf) -> Self {
        Self {
            sw_if_index: r.sw_if_index,
            is_server: r.is_server,
            sock_filename: r.sock_filename,
            renumber: r.renumber,
            enable_gso: r.enable_gso,
            enable_packed: r.enable_packed,
            enable_event_idx: false,
            custom_dev_instance: r.custom_dev_instance,
        }
    }
}

fn modify(w: &World, r: ModifyVhostUserIfV2) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    // The message has no field for features that aren't offered: these stay.
    let before = w.get::<Vhosts>().expect(w, sw_if)?.config();
    let config = Config {
        socket: r.sock_filename.0,
        is_server: r.is_server,
        feature_mask: before.feature_mask,
        gso: r.enable_gso,
        packed: r.enable_packed,
        event_idx: r.enable_event_idx,
    };
    control::modify(w, sw_if, config, r.renumber.then_some(r.custom_dev_instance))
}

/// Takes an interface away.
#[derive(Message)]
pub struct DeleteVhostUserIf {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// Asks for interfaces to virtual machines.
#[derive(Message)]
#[msg(details)]
pub struct SwInterfaceVhostUserDump {
    /// The interface; all bits set for all.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
}

msg::flags! {
    /// Features of a guest, bits 0 to 31.
    pub struct VirtioNetFeaturesFirst32: u32 = enum "virtio_net_features_first_32" {
        CSUM = 1 => "VIRTIO_NET_F_API_CSUM",
        GUEST_CSUM = 2 => "VIRTIO_NET_F_API_GUEST_CSUM",
        GUEST_TSO4 = 0x80 => "VIRTIO_NET_F_API_GUEST_TSO4",
        GUEST_TSO6 = 0x100 => "VIRTIO_NET_F_API_GUEST_TSO6",
        GUEST_UFO = 0x400 => "VIRTIO_NET_F_API_GUEST_UFO",
        HOST_TSO4 = 0x800 => "VIRTIO_NET_F_API_HOST_TSO4",
        HOST_TSO6 = 0x1000 => "VIRTIO_NET_F_API_HOST_TSO6",
        HOST_UFO = 0x4000 => "VIRTIO_NET_F_API_HOST_UFO",
        MRG_RXBUF = 0x8000 => "VIRTIO_NET_F_API_MRG_RXBUF",
        CTRL_VQ = 0x2_0000 => "VIRTIO_NET_F_API_CTRL_VQ",
        GUEST_ANNOUNCE = 0x20_0000 => "VIRTIO_NET_F_API_GUEST_ANNOUNCE",
        MQ = 0x40_0000 => "VIRTIO_NET_F_API_MQ",
        LOG_ALL = 0x400_0000 => "VHOST_F_API_LOG_ALL",
        ANY_LAYOUT = 0x800_0000 => "VIRTIO_F_API_ANY_LAYOUT",
        INDIRECT_DESC = 0x1000_0000 => "VIRTIO_F_API_INDIRECT_DESC",
        PROTOCOL_FEATURES = 0x4000_0000 => "VHOST_USER_F_API_PROTOCOL_FEATURES",
    }
}

msg::flags! {
    /// Features of a guest, bits 32 to 63.
    pub struct VirtioNetFeaturesLast32: u32 = enum "virtio_net_features_last_32" {
        VERSION_1 = 1 => "VIRTIO_F_API_VERSION_1",
    }
}

/// An interface to a virtual machine.
#[derive(Message, Debug)]
pub struct SwInterfaceVhostUserDetails {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
    /// Its name.
    pub interface_name: Str<64>,
    /// Bytes in front of a packet.
    pub virtio_net_hdr_sz: u32,
    /// Features in use.
    pub features_first_32: VirtioNetFeaturesFirst32,
    /// As well.
    pub features_last_32: VirtioNetFeaturesLast32,
    /// It listens at the socket.
    pub is_server: bool,
    /// Path of the socket.
    pub sock_filename: Str<256>,
    /// Regions of the guest's memory.
    pub num_regions: u32,
    /// The system's error of the last attempt to connect.
    pub sock_errno: i32,
}

fn details(w: &World, device: &VhostDevice) -> Option<SwInterfaceVhostUserDetails> {
    let i = w.get::<Interfaces>().get(*device.sw_if.get()?).ok()?;
    let (c, state) = (device.config(), device.state());
    let session = state.conn.as_ref().map(|conn| &conn.session);
    let features = session.map_or_else(Features::default, Session::features);
    let regions = session.and_then(Session::memory).map_or(0, |memory| memory.regions().len());
    Some(SwInterfaceVhostUserDetails {
        sw_if_index: i.sw_if.into(),
        interface_name: i.name.clone().into(),
        virtio_net_hdr_sz: features.header() as u32,
        features_first_32: VirtioNetFeaturesFirst32(features.bits() as u32),
        features_last_32: VirtioNetFeaturesLast32((features.bits() >> 32) as u32),
        is_server: c.is_server,
        sock_filename: c.socket.as_str().into(),
        num_regions: regions as u32,
        sock_errno: state.errno,
    })
}

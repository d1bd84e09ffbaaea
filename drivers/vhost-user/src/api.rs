// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vhost_user`.

use crate::control::{self, Create, Vhosts};
use crate::device::{Config, VhostDevice};
use crate::proto::{Features, Session};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> = Module::plugin("vhost_user", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: CreateVhostUserIf| create(w, r.into()));
    m.call(|w, r: CreateVhostUserIfV2| create(w, r));
    m.call(|w, r: ModifyVhostUserIf| modify(w, r.into()));
    m.call(|w, r: ModifyVhostUserIfV2| modify(w, r));
    m.call(|w, r: DeleteVhostUserIf| control::delete(w, r.sw_if_index.existing(w)?));
    m.dump(|w, r: SwInterfaceVhostUserDump| {
        let vhosts = w.get::<Vhosts>();
        let devices = match r.sw_if_index.0 {
            u32::MAX => vhosts.devices(),
            index => vec![vhosts.expect(w, SwIfIndex(index))?],
        };
        Ok(devices.iter().filter_map(|device| details(w, device)).collect::<Vec<_>>())
    });
}

msg::messages! {
    /// Changes the socket and the features of an interface; `modify_vhost_user_if_v2` is newer.
    ModifyVhostUserIf,
    /// Changes the socket and the features of an interface. Its connection ends.
    #[from(ModifyVhostUserIf)]
    ModifyVhostUserIfV2,
    /// Makes an interface to a virtual machine; `create_vhost_user_if_v2` is newer.
    CreateVhostUserIf,
    /// Makes an interface to a virtual machine.
    #[from(CreateVhostUserIf)]
    CreateVhostUserIfV2,
    /// Takes an interface away.
    DeleteVhostUserIf,
    /// Asks for interfaces to virtual machines.
    SwInterfaceVhostUserDump,
    /// Features of a guest, bits 0 to 31.
    flags VirtioNetFeaturesFirst32,
    /// Features of a guest, bits 32 to 63.
    flags VirtioNetFeaturesLast32,
    /// An interface to a virtual machine.
    SwInterfaceVhostUserDetails,
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

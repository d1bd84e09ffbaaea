// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `af_xdp`.

use crate::control::{self, Create};
use crate::device::Config;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> = Module::plugin("af_xdp", messages);

/// A number of queues that stands for all.
const ALL: u16 = u16::MAX;

fn messages(m: &mut Messages<World>) {
    m.call_later(|w, r: AfXdpCreateV3| control::create(w, r.into()));
    m.call(|w, r: AfXdpDelete| control::delete(w, r.sw_if_index.existing(w)?));
}

msg::messages! {
    /// The side that copies packets between the device and the buffers.
    AfXdpMode,
    /// The options of an AF_XDP interface.
    AfXdpFlag,
    /// Makes an interface of an interface of the Linux kernel, through AF_XDP sockets.
    AfXdpCreateV3,
    /// Takes an AF_XDP interface away; the kernel's stays.
    AfXdpDelete,
}

impl From<AfXdpCreateV3> for Create {
    fn from(r: AfXdpCreateV3) -> Self {
        let usual = Config::new(r.host_if.as_str());
        let size = |given: u16, usual: u32| if given == 0 { usual } else { given.into() };
        let config = Config {
            rx_size: size(r.rxq_size, usual.rx_size),
            tx_size: size(r.txq_size, usual.tx_size),
            rx_queues: if r.rxq_num == ALL { None } else { Some(r.rxq_num.max(1)) },
            program: r.prog.as_str().to_string(),
            netns: r.netns.as_str().to_string(),
            zero_copy: match r.mode {
                AfXdpMode::Auto => None,
                AfXdpMode::Copy => Some(false),
                AfXdpMode::ZeroCopy => Some(true),
            },
            no_syscall_lock: r.flags.has(AfXdpFlag::NO_SYSCALL_LOCK),
            mac_reuse: r.flags.has(AfXdpFlag::MAC_REUSE),
            ..usual
        };
        let name = r.name.as_str();
        Self { config, name: (!name.is_empty()).then(|| name.to_string()) }
    }
}

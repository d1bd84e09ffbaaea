// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `af_xdp`.

use crate::control::{self, Create};
use crate::device::Config;
use graph::World;
use msg::{Caller, Message, Messages, Module, Str, Wire};
use net::api::InterfaceIndex;

/// The module.
pub static API: Module<World> =
    Module { name: "af_xdp", version: "1.0.0", crc: 0x2d18_a436, core: false, messages };

/// A number of queues that stands for all.
const ALL: u16 = u16::MAX;

fn messages(m: &mut Messages<World>) {
    m.call(|w: &World, _: &Caller<'_, World>, r: AfXdpCreateV3| {
        Ok(AfXdpCreateV3Reply { sw_if_index: control::create(w, r.into())?.into() })
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: AfXdpDelete| {
        control::delete(w, r.sw_if_index.existing(w)?)
    });
}

/// The side that copies packets between the device and the buffers.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "AF_XDP_API_MODE_")]
pub enum AfXdpMode {
    /// The device if it can, else the kernel.
    Auto = 0,
    /// The kernel.
    Copy = 1,
    /// The device.
    ZeroCopy = 2,
}

msg::flags! {
    /// The options of an AF_XDP interface.
    pub struct AfXdpFlag: u8 = "af_xdp_flag" {
        NO_SYSCALL_LOCK = 1 => "AF_XDP_API_FLAGS_NO_SYSCALL_LOCK";
        MAC_REUSE = 2 => "AF_XDP_API_FLAGS_MAC_REUSE",
    }
}

/// Makes an interface of an interface of the Linux kernel, through AF_XDP sockets.
#[derive(Message)]
#[msg(reply)]
pub struct AfXdpCreateV3 {
    /// The kernel's interface.
    pub host_if: Str<64>,
    /// The new interface's name; empty for the usual one.
    pub name: Str<64>,
    /// Receive queues; 65535 for all.
    #[wire(default = "1")]
    pub rxq_num: u16,
    /// Entries of a receive ring; 0 for the default.
    #[wire(default = "0")]
    pub rxq_size: u16,
    /// Entries of a transmit ring; 0 for the default.
    #[wire(default = "0")]
    pub txq_size: u16,
    /// The side that copies.
    #[wire(default = "0")]
    pub mode: AfXdpMode,
    /// Options.
    #[wire(default = "0")]
    pub flags: AfXdpFlag,
    /// A program that is pinned in a BPF file system; empty for the driver's own.
    pub prog: Str<256>,
    /// The namespace of the kernel's interface; empty for this program's.
    pub netns: Str<64>,
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

/// The new interface.
#[derive(Message)]
pub struct AfXdpCreateV3Reply {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

/// Takes an AF_XDP interface away; the kernel's stays.
#[derive(Message)]
pub struct AfXdpDelete {
    /// Its number.
    pub sw_if_index: InterfaceIndex,
}

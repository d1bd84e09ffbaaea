// SPDX-License-Identifier: Apache-2.0
//! Interfaces, as commands that make them.

use crate::control::{Pcaps, own_mac};
use crate::device::Config;
use crate::format::Link;
use crate::replay::Pace;
use cli::quote;
use graph::{RunningConfig, World};
use net::{Interfaces, OriginalSettings};

/// Writes the interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Pcaps>().indices(), |world, sw_if, lines| {
        let device = world.get::<Pcaps>().device(sw_if);
        let (Some(device), Ok(interface)) = (device, world.get::<Interfaces>().get(sw_if)) else {
            return;
        };
        let OriginalSettings { name, mac, .. } = interface.original;
        let mut line =
            format!("create interface pcap id {}{}", device.config.id, device.config.words());
        if mac != own_mac(device.config.id) {
            line += &format!(" hw-addr {mac}");
        }
        lines.push(line, format!("delete interface pcap {}", quote(&name)));
    });
}

impl Config {
    /// The speed, in the words of the command or of `show`.
    pub fn pace_words(&self) -> String {
        match self.pace {
            Pace::Timestamps => "timestamps".into(),
            Pace::Rate(rate) => format!("rate {rate}"),
            Pace::FullSpeed => "full-speed".into(),
        }
    }

    /// The words behind the number.
    fn words(&self) -> String {
        let mut text = String::new();
        if let Some(path) = &self.rx {
            text += &format!(" rx {}", quote(&path.to_string_lossy()));
            if self.pace != Pace::Timestamps {
                text += &format!(" {}", self.pace_words());
            }
            match self.times {
                Some(1) => {}
                Some(times) => text += &format!(" loop {times}"),
                None => text += " loop endless",
            }
        }
        if let Some(path) = &self.tx {
            text += &format!(" tx {}", quote(&path.to_string_lossy()));
        }
        if self.link == Link::Ip {
            text += " mode ip";
        }
        text
    }
}

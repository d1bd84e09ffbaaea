// SPDX-License-Identifier: Apache-2.0
//! The verbs of the packet generator.

use crate::device::PgDevice;
use crate::input::PgInput;
use crate::offload::Offloads;
use crate::packets::Packets;
use crate::state::{Mode, PgInterface, Shared};
use crate::stream::Source;
use crate::tx::PgTx;
use buffer::MAX_PACKET;
use cli::Error;
use graph::{InputMode, SwIfIndex, World};
use msg::retval;
use net::{IfKind, Interfaces, NewInterface};
use pcap_file::pcap::PcapReader;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::MacAddr;

/// Parameters of a new interface.
#[derive(Clone, Debug)]
pub struct NewPg {
    /// `pgN`.
    pub name: String,
    pub mac: Option<MacAddr>,
    pub mode: Mode,
    pub offloads: Offloads,
}

/// The address of an interface that is given none; none for what isn't `pg` and a number.
pub fn own_mac(name: &str) -> Option<MacAddr> {
    let number = name.strip_prefix("pg").and_then(|n| n.parse::<u32>().ok());
    let number = number.filter(|n| format!("pg{n}") == name)?;
    Some(MacAddr::local(u64::from(number) | 0x7067 << 32))
}

/// Makes a `pgN` interface.
///
/// # Errors
/// A name that isn't `pg` and a number, or is taken.
pub fn create_interface(world: &World, new: &NewPg) -> Result<SwIfIndex, Error> {
    let Some(own_mac) = own_mac(&new.name) else {
        return Err(Error::parse(format!("`{}': expected a name such as pg0", new.name))
            .retval(retval::INVALID_VALUE));
    };
    let capturing = Arc::new(AtomicBool::new(false));
    let device = PgDevice;
    let (tx, ip) = (capturing.clone(), new.mode != Mode::Ethernet);
    let sw_if = world.get::<Interfaces>().create(
        world,
        NewInterface {
            name: new.name.clone(),
            kind: if ip { IfKind::Ip } else { IfKind::Ethernet },
            device: Arc::new(device),
            mac: new.mac.unwrap_or(own_mac),
            mtu: 9000,
            link_up: true,
        },
        move |world, _, sw_if| PgTx::new(world, sw_if, ip, tx.clone()),
    )?;
    let filter = Arc::default();
    let interface =
        PgInterface { sw_if, mode: new.mode, offloads: new.offloads, capturing, filter };
    world.get::<Shared>().add(&new.name, interface);
    Ok(sw_if)
}

/// Makes `pgN`, unless it is there in this mode with these offloads.
///
/// # Errors
/// It is there otherwise, or something else has its name.
pub fn make_interface(
    world: &World,
    number: u32,
    mode: Mode,
    offloads: Offloads,
) -> Result<SwIfIndex, Error> {
    let name = format!("pg{number}");
    match world.get::<Shared>().find(world, &name) {
        Ok(found) if (found.mode, found.offloads) == (mode, offloads) => Ok(found.sw_if),
        _ => create_interface(world, &NewPg { name, mac: None, mode, offloads }),
    }
}

/// Takes a `pgN` interface away, with its streams and its capture.
///
/// # Errors
/// Another interface.
pub fn delete_interface(world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
    let interfaces = world.get::<Interfaces>();
    world.get::<Shared>().mode(world, &interfaces.get(sw_if)?.name)?;
    interfaces.delete(world, sw_if)
}

impl Shared {
    /// Runs a stream, or all, from the first packet on. Their interfaces go up, as in VPP.
    ///
    /// # Errors
    /// A stream that doesn't exist.
    pub fn enable(&self, world: &World, name: Option<&str>) -> Result<(), Error> {
        let node = world
            .node("pg-input")
            .ok_or_else(|| Error::failed("the packet generator's input is missing"))?;
        let (streams, own) = (self.named(name)?, self.interfaces());
        self.flush(world.clock.now());
        for stream in streams {
            if stream.enabled.load(Ordering::Acquire) {
                continue;
            }
            let sw_if = stream.spec.interface;
            if own.iter().any(|(own, ..)| *own == sw_if) {
                world.get::<Interfaces>().set_admin(world, sw_if, true)?;
            }
            stream.sent.store(0, Ordering::Relaxed);
            stream.lost.store(0, Ordering::Relaxed);
            stream.enabled.store(true, Ordering::Release);
            world.on_thread(stream.spec.thread, move |rt| {
                if let Some(input) = rt.input_mut::<PgInput>(node) {
                    input.add(stream);
                }
                rt.set_input_mode(node, InputMode::Polling);
            });
        }
        Ok(())
    }
}

/// The packets of a capture file, as much of each as is in the file; its link type doesn't matter.
///
/// # Errors
/// A file that can't be read, isn't a capture in the classic format, is empty, or has a packet that
/// no chain of buffers holds.
pub fn read_capture(path: &Path) -> Result<Source, Error> {
    let shown = path.display();
    let file = cli::open_regular(path).map_err(|e| Error::failed(format!("{shown}: {e}")))?;
    let mut reader = PcapReader::new(std::io::BufReader::new(file))
        .map_err(|e| Error::failed(format!("{shown}: {e}")))?;
    let mut packets = Packets::default();
    // Raw: the reader refuses packets that are longer than the file's snaplen, of which the file
    // holds a part.
    while let Some(packet) = reader.next_raw_packet() {
        let failed =
            |what: String| Error::failed(format!("{shown}: packet {}: {what}", packets.len() + 1));
        let packet = packet.map_err(|e| failed(e.to_string()))?;
        if packet.data.len() > MAX_PACKET {
            return Err(failed(format!("{} bytes, {MAX_PACKET} at most", packet.data.len())));
        }
        packets.push(&packet.data);
    }
    if packets.is_empty() {
        return Err(Error::failed(format!("{shown} holds no packet")));
    }
    Ok(Source::Packets(Arc::new(packets)))
}

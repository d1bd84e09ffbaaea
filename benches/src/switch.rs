// SPDX-License-Identifier: Apache-2.0
//! Switched frames: a cross-connect, or a bridge domain with stations behind both ports.

use crate::scenario::Table;
use crate::side::PACKETS;
use crate::site::Site;
use testkit::pkt;
use wire::MacAddr;

/// Rounds until all stations are learned, and seconds between them.
const ROUNDS: usize = 20;
const SECONDS: usize = 60;

/// The station of this number behind a port.
fn station(port: usize, number: usize) -> MacAddr {
    let [.., a, b, c] = (number as u32).to_be_bytes();
    MacAddr([0x02, 0xaa, port as u8, a, b, c])
}

/// Stations behind each port.
fn stations(table: Table) -> usize {
    (table.routes / 2).max(1)
}

/// A frame of 64 bytes, its check sequence included.
fn frame(from: MacAddr, to: MacAddr) -> Vec<u8> {
    pkt::ether(from, to).ip4("192.168.0.2", "10.0.0.1").udp(1000, 2000).payload([0; 18]).build()
}

/// Frames from stations behind the input to stations behind the output, all of them equally often.
pub fn frames(table: Table) -> Vec<Vec<u8>> {
    let n = stations(table);
    // Both run through all stations, in different orders: neither factor has 2 or 5 as a divisor.
    let (count, step) = (if n == 1 { 1 } else { PACKETS }, 7_368_787);
    (0..count).map(|i| frame(station(1, i * 7919 % n), station(0, i * step % n))).collect()
}

/// Connects the ports. In a domain, all stations behind the output have sent a frame, so that they
/// are known; those behind the input are learned by the first packets of a scenario.
pub fn set_up(site: &mut Site) -> Result<(), String> {
    if site.table.routes == 0 {
        site.command("set interface l2 xconnect pg2 pg1")?;
        return site.command("set interface l2 xconnect pg1 pg2");
    }
    site.command("create bridge-domain 1")?;
    for port in ["pg1", "pg2"] {
        site.command(&format!("set interface l2 bridge {port} 1"))?;
    }
    let known: Vec<_> =
        (0..stations(site.table)).map(|n| frame(station(0, n), station(1, 0))).collect();
    let (output, count) = (site.outputs[0], known.len() as u64);
    let stream = site.add_stream("stations", output, known.into_iter().collect(), 256, count)?;
    let bridge = site.world.get::<l2::Bridge>();
    for _ in 0..ROUNDS {
        site.run_streams(std::slice::from_ref(&stream))?;
        if bridge.entry_count() as u64 >= count {
            return Ok(());
        }
        // The table grows meanwhile, and the next round learns the addresses that it had no room
        // for.
        (0..SECONDS).for_each(|_| site.second());
    }
    Err(format!("{} of {count} stations were learned", bridge.entry_count()))
}

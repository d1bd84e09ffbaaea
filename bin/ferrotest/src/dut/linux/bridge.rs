// SPDX-License-Identifier: Apache-2.0
//! The kernel's bridge between the two ports. It has no addresses: the tester's ports are
//! neighbours.

use super::{IP, Linux, release, run};
use crate::dut::Device;
use crate::dut::change::{Routes, Verb};
use crate::lab::{End, Lab, quiet};

/// Hundredths of a second for which an address is known without packets. No measurement is longer,
/// so frames are never flooded because an address was forgotten.
const AGEING: u32 = 100_000_000;

/// The kernel as a bridge.
#[derive(Debug)]
pub struct Bridge {
    release: String,
}

/// Commands of `ip -batch`. The spanning tree and multicast are off, since both make the kernel
/// send frames of its own.
fn commands() -> String {
    let [left, right] = End::BOTH.map(End::name);
    format!(
        "link add name bridge type bridge stp_state 0 mcast_snooping 0 ageing_time {AGEING}\n\
         link set dev {left} master bridge\n\
         link set dev {right} master bridge\n\
         link set dev bridge up\n"
    )
}

impl Bridge {
    /// Makes the bridge.
    ///
    /// # Errors
    /// The kernel's, or the program `ip` is missing.
    pub fn up(lab: &Lab) -> Result<Self, String> {
        quiet(&lab.device)?;
        run(lab, IP, &["-batch", "-"], &commands())?;
        Ok(Self { release: release() })
    }
}

impl Device for Bridge {
    fn describe(&self) -> String {
        format!("Linux {}, bridge in a network namespace", self.release)
    }

    fn routes(&mut self, _lab: &Lab, _routes: Routes, _verb: Verb) -> Result<(), String> {
        Err("a bridge has no routes: expected linux, linux:nat, ferrovia or vpp".into())
    }

    /// The interfaces go down and up, so that the bridge forgets its addresses.
    fn restart(&mut self, lab: &Lab) -> Result<(), String> {
        Linux::toggle(lab).map(drop)
    }

    fn is_bridge(&self) -> bool {
        true
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn both_ports_are_in_the_bridge() {
        let text = commands();
        for port in ["left", "right"] {
            assert!(text.contains(&format!("\nlink set dev {port} master bridge\n")), "{text}");
        }
    }
}

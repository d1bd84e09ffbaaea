// SPDX-License-Identifier: Apache-2.0
//! Translation of source addresses by the kernel: packets of IPv4 that leave to the right get the
//! device's address on that side, by a rule of nftables.

use std::fs;

use super::{CONNTRACK, Linux, NFT, run};
use crate::dut::Device;
use crate::dut::change::{Routes, Verb};
use crate::lab::{End, Lab, sysctl};

/// Seconds for which a session without packets is kept. RFC 9693 wants timeouts that no
/// measurement reaches.
const TIMEOUT: &str = "86400";

/// The kernel as a router that translates.
#[derive(Debug)]
pub struct Nat {
    router: Linux,
    /// Entries that the table of sessions holds at most.
    most: Option<u64>,
}

/// The table of rules.
fn rules() -> String {
    let (right, address) = (End::Right.name(), End::Right.addresses().device.0);
    format!(
        "table ip ferrotest {{\n\
         chain postrouting {{\n\
         type nat hook postrouting priority srcnat; policy accept;\n\
         oifname \"{right}\" snat to {address}\n\
         }}\n\
         }}\n"
    )
}

impl Nat {
    /// Gives the namespace addresses, routes and the rule.
    ///
    /// # Errors
    /// The kernel's, or a program is missing.
    pub fn up(lab: &Lab) -> Result<Self, String> {
        let router = Linux::up(lab)?;
        run(lab, NFT, &["-f", "-"], &rules())?;
        // The parameters exist from the first such rule on.
        for name in ["nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream"] {
            sysctl(&lab.device, &format!("net/netfilter/{name}"), TIMEOUT)?;
        }
        let path = "/proc/sys/net/netfilter/nf_conntrack_max";
        let text = lab.device.run(|| fs::read_to_string(path));
        let text = text.map_err(|error| format!("{path}: {error}"))?;
        let most: u64 = text
            .trim()
            .parse()
            .map_err(|_| format!("{path}: expected a number, found `{}'", text.trim()))?;
        let mut this = Self { router, most: Some(most).filter(|most| *most > 0) };
        // A missing program is named now, not after the first trial.
        this.clear_sessions(lab)?;
        Ok(this)
    }
}

impl Device for Nat {
    fn describe(&self) -> String {
        let (release, address) = (&self.router.release, End::Right.addresses().device.0);
        let most = self.most.map_or("without a limit".into(), |most| format!("of {most} sessions"));
        format!(
            "Linux {release}, NAT by nftables (snat to {address}) in a network namespace, table {most}"
        )
    }

    fn routes(&mut self, lab: &Lab, routes: Routes, verb: Verb) -> Result<(), String> {
        self.router.routes(lab, routes, verb)
    }

    fn restart(&mut self, lab: &Lab) -> Result<(), String> {
        self.clear_sessions(lab)?;
        self.router.restart(lab)
    }

    fn clear_sessions(&mut self, lab: &Lab) -> Result<(), String> {
        run(lab, CONNTRACK, &["-F"], "")
    }

    fn most_sessions(&self) -> Option<u64> {
        self.most
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn the_rule_is_for_packets_to_the_right() {
        let text = rules();
        assert!(text.contains("\noifname \"right\" snat to 198.19.0.1\n"), "{text}");
    }
}

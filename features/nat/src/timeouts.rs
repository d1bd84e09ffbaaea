// SPDX-License-Identifier: Apache-2.0
//! Timeouts of sessions, the ticks of their timers, and the ports that users get.

use cli::{Matches, Output, Result};
use serde_json::json;

/// Ticks of the timers in a second.
pub const TICKS: u32 = 10;
/// Nanoseconds of a tick.
pub const TICK: u64 = 1_000_000_000 / TICKS as u64;
/// The first port that is given to users, and the number of these ports.
pub const FIRST_PORT: u32 = 1024;
/// See there.
pub const PORTS: u32 = 65_536 - FIRST_PORT;
/// A time of the instance's clock, as ticks.
#[inline(always)]
pub fn tick(now: u64) -> u32 {
    (now / TICK) as u32
}

/// The kinds of timeouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Timeout {
    /// Of UDP, and of protocols without ports.
    Udp,
    /// Of TCP connections that are established.
    TcpEstablished,
    /// Of other TCP connections.
    TcpTransitory,
    /// Of ICMP queries.
    Icmp,
}

/// Seconds, by [`Timeout`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts(pub [u32; 4]);

impl Default for Timeouts {
    /// RFC 4787 4.3, RFC 5382 5, RFC 5508 3.2.
    fn default() -> Self {
        Self([300, 7440, 240, 60])
    }
}

impl Timeouts {
    /// A timeout in ticks; at least one.
    #[inline(always)]
    pub fn ticks(&self, of: Timeout) -> u32 {
        self.0[of as usize].saturating_mul(TICKS).clamp(1, u32::MAX - 1)
    }

    /// A timeout in seconds.
    pub fn seconds(&self, of: Timeout) -> u32 {
        self.0[of as usize]
    }

    /// The timeouts after a command whose words have the names `udp`, `established`, `transitory`
    /// and `icmp`, or `reset`.
    ///
    /// # Errors
    /// A word that can't be read.
    pub fn set_by(mut self, m: &Matches) -> Result<Self> {
        if m.flag("reset") {
            return Ok(Self::default());
        }
        let names = [
            ("udp", Timeout::Udp),
            ("established", Timeout::TcpEstablished),
            ("transitory", Timeout::TcpTransitory),
            ("icmp", Timeout::Icmp),
        ];
        for (name, of) in names {
            if let Some(seconds) = m.opt(name)? {
                self.0[of as usize] = seconds;
            }
        }
        Ok(self)
    }

    /// The answer of the commands that show them; `between` stands between TCP and the state of its
    /// connections.
    pub fn show(&self, between: char) -> Output {
        let [udp, established, transitory, icmp] = self.0;
        let text = format!(
            "udp timeout: {udp}sec\ntcp{between}established timeout: {established}sec\n\
             tcp{between}transitory timeout: {transitory}sec\nicmp timeout: {icmp}sec\n"
        );
        let value = json!({
            "udp": udp,
            "tcp_established": established,
            "tcp_transitory": transitory,
            "icmp": icmp,
        });
        Output::both(text, value)
    }
}

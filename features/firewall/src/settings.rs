// SPDX-License-Identifier: Apache-2.0
//! Settings of sessions.

use graph::{Shared, World};
use object::Choice;
use std::sync::atomic::{AtomicU32, Ordering};

/// Timers' ticks in a second.
const TICKS: u32 = 10;

/// The timers of sessions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum Timer {
    /// TCP before both ends have agreed.
    TcpOpening,
    /// TCP connections.
    TcpEstablished,
    /// TCP after a FIN.
    TcpClosing,
    /// TCP after both FINs were acknowledged.
    TcpTimeWait,
    /// TCP after a reset.
    TcpClosed,
    /// UDP without an answer.
    #[default]
    Udp,
    /// UDP in both directions.
    UdpAnswered,
    /// Queries of ICMP.
    Icmp,
    /// Other protocols without an answer.
    Other,
    /// Other protocols in both directions.
    OtherAnswered,
}

impl Choice for Timer {
    const ALL: &'static [(&'static str, Self)] = &[
        ("tcp-opening", Self::TcpOpening),
        ("tcp-established", Self::TcpEstablished),
        ("tcp-closing", Self::TcpClosing),
        ("tcp-time-wait", Self::TcpTimeWait),
        ("tcp-closed", Self::TcpClosed),
        ("udp", Self::Udp),
        ("udp-answered", Self::UdpAnswered),
        ("icmp", Self::Icmp),
        ("other", Self::Other),
        ("other-answered", Self::OtherAnswered),
    ];
}

impl Timer {
    /// Seconds at first. Those of established TCP and of answered UDP are the least that RFC 5382
    /// (REQ-5) and RFC 4787 (REQ-5) want of a middle box.
    pub const fn default_seconds(self) -> u32 {
        [30, 7440, 240, 60, 10, 30, 300, 30, 60, 600][self as usize]
    }
}

/// A limit of the sessions of all threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Limit {
    /// Sessions.
    Sessions,
    /// TCP connections whose handshake isn't complete.
    HalfOpen,
    /// Sessions that one host began; 0 for no more than its share of a full table.
    SourceSessions,
    /// Sessions that one host begins in a second; 0 for any number.
    SourceRate,
}

impl Limit {
    /// The value at first.
    pub const fn default_value(self) -> u32 {
        [1_000_000, 100_000, 0, 0][self as usize]
    }
}

impl Choice for Limit {
    const ALL: &'static [(&'static str, Self)] = &[
        ("sessions", Self::Sessions),
        ("half-open", Self::HalfOpen),
        ("source-sessions", Self::SourceSessions),
        ("source-rate", Self::SourceRate),
    ];
}

/// The settings.
pub struct Settings {
    /// Seconds, by [`Timer`].
    timers: [AtomicU32; 10],
    /// By [`Limit`].
    limits: [AtomicU32; 4],
}

impl Shared for Settings {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timers: std::array::from_fn(|at| AtomicU32::new(Timer::ALL[at].1.default_seconds())),
            limits: std::array::from_fn(|at| AtomicU32::new(Limit::ALL[at].1.default_value())),
        }
    }
}

impl Settings {
    /// Seconds of a timer.
    pub fn seconds(&self, of: Timer) -> u32 {
        self.timers[of as usize].load(Ordering::Relaxed)
    }

    /// Sets the seconds of a timer, for sessions that begin or change from now on.
    pub fn set_seconds(&self, of: Timer, seconds: u32) {
        self.timers[of as usize].store(seconds, Ordering::Relaxed);
    }

    /// A timer in ticks; at least one.
    #[inline(always)]
    pub fn ticks(&self, of: Timer) -> u32 {
        self.seconds(of).saturating_mul(TICKS).clamp(1, u32::MAX - 1)
    }

    /// A limit.
    #[inline(always)]
    pub fn limit(&self, of: Limit) -> u32 {
        self.limits[of as usize].load(Ordering::Relaxed)
    }

    /// Sets a limit.
    pub fn set_limit(&self, of: Limit, value: u32) {
        self.limits[of as usize].store(value, Ordering::Relaxed);
    }

    /// The part of a limit of all sessions that each of so many threads has; at least one.
    #[inline(always)]
    pub fn share(&self, of: Limit, threads: usize) -> usize {
        (self.limit(of) as usize / threads.max(1)).max(1)
    }
}

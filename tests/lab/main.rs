// SPDX-License-Identifier: Apache-2.0
//! The daemon as a process, and real Linux hosts around it.

mod api;
mod bond;
mod bridge;
mod closed;
mod config;
mod crowd;
mod daemon;
mod devices;
mod discovery;
mod forward;
mod fragments;
mod generator;
mod guest;
mod host;
mod lldp;
mod mirror;
mod mixed;
mod multicast;
mod multipath;
mod neighbors;
mod odd;
mod path_mtu;
mod pending;
mod port_range;
mod prometheus;
mod punt;
mod restart;
mod six;
mod star;
mod stats;
mod tunnels;
mod udp;
mod urpf;
mod vlan;
mod vrf;

// SPDX-License-Identifier: Apache-2.0
//! The graph and the commands of all plugins together.

mod allocations;
mod buffers;
mod captures;
mod compat;
mod config;
mod counters;
mod discovery;
mod exceptions;
mod failover;
mod fragments;
mod guests;
mod interfaces;
mod loops;
mod multicast;
mod mutated;
mod mutated6;
mod names;
mod notes;
mod objects;
mod plugins;
mod published;
mod reasons;
mod routes;
mod super_path;
mod tally;
mod tracked;
mod tunnels;

// SPDX-License-Identifier: Apache-2.0
//! VPP's clients as they are published, and clients that mean harm, against the daemon.

mod govpp;
mod hostile;
mod papi;
mod suite;
mod tutorial;
mod witness;

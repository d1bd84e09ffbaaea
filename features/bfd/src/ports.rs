// SPDX-License-Identifier: Apache-2.0
//! The UDP ports of sessions, registered while there are sessions of one hop, or of several.
//! Without sessions, datagrams to these ports may go to another program, such as a BFD daemon
//! behind a mirror of the interface.

use crate::echo::EchoInput;
use crate::home::SessionKey;
use crate::input::BfdInput;
use crate::packet::{CONTROL_PORT, ECHO_PORT, MULTIHOP_PORT};
use cli::{Error, Result};
use graph::{World, name_of};
use ip::{Ip, register_udp_port, unregister_udp_port};
use msg::retval;
use wire::{Ip4, Ip6};

/// True for registered ports: those of one hop, those of several.
#[derive(Default)]
pub struct Ports([bool; 2]);

fn numbers(multihop: bool) -> &'static [u16] {
    if multihop { &[MULTIHOP_PORT] } else { &[CONTROL_PORT, ECHO_PORT] }
}

/// Takes a port of a version.
fn open<F: Ip>(world: &World, port: u16) -> Result<(), String> {
    let echo = port == ECHO_PORT;
    let node = if echo { name_of::<EchoInput<F>>() } else { name_of::<BfdInput<F>>() };
    register_udp_port::<F>(world, port, node)
}

type Open = fn(&World, u16) -> Result<(), String>;
type Close = fn(&World, u16);
/// The functions of each version.
const VERSIONS: [(Open, Close); 2] =
    [(open::<Ip4>, unregister_udp_port::<Ip4>), (open::<Ip6>, unregister_udp_port::<Ip6>)];

impl Ports {
    /// Takes the ports that a session needs.
    ///
    /// # Errors
    /// A port that another feature has (−164).
    pub fn open(&mut self, world: &World, key: &SessionKey) -> Result<()> {
        let multihop = key.is_multihop();
        if self.0[usize::from(multihop)] {
            return Ok(());
        }
        let mut taken: Vec<(Close, u16)> = Vec::new();
        for (open, close) in VERSIONS {
            for port in numbers(multihop) {
                if let Err(why) = open(world, *port) {
                    taken.into_iter().for_each(|(close, port)| close(world, port));
                    return Err(Error::failed(why).retval(retval::UDP_PORT_TAKEN));
                }
                taken.push((close, *port));
            }
        }
        self.0[usize::from(multihop)] = true;
        Ok(())
    }

    /// Gives the ports of a kind of sessions back.
    pub fn close(&mut self, world: &World, multihop: bool) {
        if std::mem::take(&mut self.0[usize::from(multihop)]) {
            for (_, close) in VERSIONS {
                numbers(multihop).iter().for_each(|port| close(world, *port));
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A device and a transmit node that lead nowhere, for tests and benches beside [`graph::drive`].

use crate::Device;
use buffer::Buffer;
use graph::{Cx, Next, Node};

/// A device that there is none of.
pub struct Nowhere;

impl Device for Nowhere {
    fn driver(&self) -> &'static str {
        "test"
    }
}

/// Frees what an interface sends.
pub struct Tx;

/// The only way out.
#[derive(Next, Clone, Copy)]
pub enum TxTo {
    /// Freed.
    #[free]
    Sent,
}

impl Node for Tx {
    const NAME: &'static str = "test-tx";
    type Next = TxTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> TxTo {
        TxTo::Sent
    }
}

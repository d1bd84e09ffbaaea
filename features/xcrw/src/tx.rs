// SPDX-License-Identifier: Apache-2.0
//! `xcrw-tx`: the transmit node of interfaces `xcrwN`.

use buffer::Buffer;
use graph::{Cx, Next, Node};

/// The node: nothing is switched or routed to such an interface.
pub struct XcrwTx;

#[derive(Next, Clone, Copy)]
pub enum TxTo {
    /// the interface stands for a rewrite, and sends nothing
    #[drop]
    Nothing,
}

impl Node for XcrwTx {
    const NAME: &'static str = "xcrw-tx";
    type Next = TxTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> TxTo {
        TxTo::Nothing
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `l2tp-encap`: encapsulation. The headers are the same for all packets of a session.

use crate::model::L2tp;
use tunnel::Codec;

/// Ethernet frames.
#[derive(Clone, Copy)]
pub enum L2tpCodec {}

impl Codec for L2tpCodec {
    type Spec = L2tp;
    const NAME: &'static str = "l2tp-encap";
}

// SPDX-License-Identifier: Apache-2.0
//! Next nodes of `vxlan4-input` and `vxlan6-input`, which take headers off. The number is the IP
//! version of the datagram.

tunnel::datagram_next! {
    /// Next nodes of received datagrams.
    pub enum To {
        /// packets with bad flags field in vxlan header
        #[drop]
        #[counter("packets with bad flags field in vxlan header")]
        BadFlags,
        /// packet shorter than its headers
        #[drop]
        TooShort,
    }
}

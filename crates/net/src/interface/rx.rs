// SPDX-License-Identifier: Apache-2.0
//! The receive mode of new receive queues.

use super::Interfaces;
use graph::InputMode;

impl Interfaces {
    /// The receive mode of new receive queues.
    pub fn default_rx_mode(&self) -> InputMode {
        self.inner().rx_mode.unwrap_or(InputMode::Adaptive)
    }

    /// Sets the receive mode of receive queues made from now on; `None` for adaptive.
    pub fn set_default_rx_mode(&self, mode: Option<InputMode>) {
        self.inner().rx_mode = mode;
    }
}

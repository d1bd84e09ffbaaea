// SPDX-License-Identifier: Apache-2.0
//! Configuration of receive queues: mode and thread.

use super::Interfaces;
use crate::RxQueue;
use cli::Error;
use graph::{InputMode, SwIfIndex, ThreadIndex, World};

/// The configuration of a receive queue; `None` leaves a setting to the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RxQueueConfig {
    /// The receive mode: polling, interrupt or adaptive.
    pub mode: Option<InputMode>,
    /// The thread that polls it.
    pub thread: Option<ThreadIndex>,
    /// The placement by the driver, before it was configured.
    made: RxQueue,
}

impl Interfaces {
    /// The receive mode of new receive queues.
    pub fn default_rx_mode(&self) -> InputMode {
        self.inner().rx_mode.unwrap_or(InputMode::Adaptive)
    }

    /// Sets the receive mode of receive queues made from now on; `None` for adaptive.
    pub fn set_default_rx_mode(&self, mode: Option<InputMode>) {
        self.inner().rx_mode = mode;
    }

    /// Sets the receive mode of a receive queue; `None`: as when it was made.
    ///
    /// # Errors
    /// An interface or a queue that isn't there; a mode that the device hasn't got.
    pub fn set_rx_mode(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        queue: u16,
        mode: Option<InputMode>,
    ) -> Result<(), Error> {
        self.choose(world, sw_if, queue, |config| config.mode = mode)
    }

    /// Sets the thread that polls a receive queue; `None`: the thread that it was made with.
    ///
    /// # Errors
    /// An interface, a queue or a thread that isn't there.
    pub fn set_rx_thread(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        queue: u16,
        thread: Option<ThreadIndex>,
    ) -> Result<(), Error> {
        self.choose(world, sw_if, queue, |config| config.thread = thread)
    }

    fn choose(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        queue: u16,
        change: impl FnOnce(&mut RxQueueConfig),
    ) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        let now = interface.device.rx_queues().into_iter().find(|q| q.queue == queue);
        let made = now.ok_or_else(|| {
            Error::not_found(format!("{} has no receive queue {queue}", interface.name))
                .retval(msg::retval::INVALID_QUEUE)
        })?;
        let before = interface.rx.get(&queue).copied();
        let mut config = before.unwrap_or(RxQueueConfig { mode: None, thread: None, made });
        change(&mut config);
        let RxQueueConfig { mode, thread, made } = config;
        let place = RxQueue {
            queue,
            mode: mode.unwrap_or(made.mode),
            thread: thread.unwrap_or(made.thread),
        };
        interface.device.place(world, place)?;
        if let Some(Some(interface)) = self.inner().all.get_mut(sw_if.at()) {
            interface.rx.insert(queue, config);
        }
        Ok(())
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Taps for features: interfaces of the host whose other end is here. The driver that makes them
//! registers its functions, so a feature doesn't depend on it.

use cli::{Error, retval};
use graph::{Shared, SwIfIndex, World};
use std::sync::OnceLock;
use wire::MacAddr;

/// The settings of a tap that a feature asks for. The interface is down at first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TapRequest {
    /// Name of the host's end.
    pub host_name: String,
    /// Network namespace of the host's end, by name or path; `None`: that of the process.
    pub host_namespace: Option<String>,
    /// MAC address of the host's end; `None`: the kernel draws one.
    pub host_mac: Option<MacAddr>,
    /// MTU of the host's end, in bytes; `None`: the kernel's usual one.
    pub host_mtu: Option<u32>,
    /// Name of the interface; `None`: the driver numbers it.
    pub name: Option<String>,
    /// True if packets have no layer-2 header.
    pub ip: bool,
    /// An interface that the line of the configuration which makes the tap names: the tap gets a
    /// higher index.
    pub above: Option<SwIfIndex>,
}

/// Functions of the driver that makes taps, for [`Taps::register`].
#[derive(Clone, Copy)]
pub struct TapDriver {
    /// Makes a tap. The feature writes it to the configuration; the driver doesn't.
    pub make: fn(&World, &TapRequest) -> Result<SwIfIndex, Error>,
    /// Deletes a tap, with the host's end.
    pub delete: fn(&World, SwIfIndex) -> Result<(), Error>,
}

/// The driver of taps of an instance.
#[derive(Default)]
pub struct Taps(OnceLock<TapDriver>);

impl Shared for Taps {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Taps {
    /// Registers the driver that makes taps.
    ///
    /// # Errors
    /// Another one has registered.
    pub fn register(&self, driver: TapDriver) -> Result<(), String> {
        self.0.set(driver).map_err(|_| "there is another driver of taps".to_string())
    }

    fn driver(&self) -> Result<&TapDriver, Error> {
        self.0.get().ok_or_else(|| {
            Error::unsupported("no driver makes taps: its plugin is switched off, or isn't built")
                .retval(retval::UNIMPLEMENTED)
        })
    }

    /// Makes a tap for a feature, which writes it to the configuration.
    ///
    /// # Errors
    /// No driver makes taps (−9); as the driver says: a name in use, an error of the kernel.
    pub fn create(&self, world: &World, request: &TapRequest) -> Result<SwIfIndex, Error> {
        (self.driver()?.make)(world, request)
    }

    /// Deletes a tap, with the host's end.
    ///
    /// # Errors
    /// No driver makes taps (−9); an interface that is no tap, or one that others lie on.
    pub fn delete(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        (self.driver()?.delete)(world, sw_if)
    }
}

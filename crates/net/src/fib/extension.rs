// SPDX-License-Identifier: Apache-2.0
//! Kinds of paths that features implement.

use crate::{Fib, Link, ObjectType};
use cli::Error;
use graph::{Shared, World};
use msg::retval;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use wire::{Ip4, Ip6};

/// A kind of path whose packets a feature processes. Without the feature such paths are refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Extension {
    /// Packets are processed as if received on the interface of this number.
    InterfaceRx,
    /// UDP encapsulation.
    UdpEncap,
    /// Lookup in a classify table.
    Classify,
    /// Sent by the interface of this number, with the layer-2 header that the packet was received
    /// with (distributed virtual router).
    Dvr,
}

impl Extension {
    /// The name in messages and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InterfaceRx => "interface-rx",
            Self::UdpEncap => "udp-encap",
            Self::Classify => "classify",
            Self::Dvr => "dvr",
        }
    }
}

/// The types of the objects that such paths lead to, by kind.
#[derive(Default)]
pub struct Extensions(Mutex<HashMap<Extension, &'static ObjectType>>);

impl Shared for Extensions {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Extensions {
    fn types(&self) -> MutexGuard<'_, HashMap<Extension, &'static ObjectType>> {
        self.0.lock().expect("no panic inside")
    }

    /// Registers the type of the objects that paths of this kind lead to. Called once by the
    /// feature's plugin.
    pub fn register(&self, kind: Extension, of: &'static ObjectType) {
        self.types().insert(kind, of);
    }

    /// The type of the objects that paths of this kind lead to.
    ///
    /// # Errors
    /// No feature takes such paths (−9).
    pub(super) fn object_type(&self, kind: Extension) -> Result<&'static ObjectType, Error> {
        let nobody = || Error::unsupported(format!("no feature takes {} paths yet", kind.name()));
        self.types().get(&kind).copied().ok_or_else(|| nobody().retval(retval::UNIMPLEMENTED))
    }

    /// Reports the first path list of a protocol with a path to an object, or that the last one is
    /// removed.
    pub(super) fn report_use(
        &self,
        world: &World,
        link: Link,
        (kind, object): (Extension, u32),
        is_used: bool,
    ) {
        if let Ok(of) = self.object_type(kind) {
            (of.used)(world, link, object, is_used);
        }
    }

    /// Resolves the paths to an object again, after it was created or has changed.
    pub fn refresh(&self, world: &World, kind: Extension, object: u32) {
        let Ok(of) = self.object_type(kind) else { return };
        world.get::<Fib<Ip4>>().refresh_object(world, (kind, of), object);
        world.get::<Fib<Ip6>>().refresh_object(world, (kind, of), object);
    }

    /// Returns true if a route has a path to this object, usable or not.
    pub fn is_used(&self, world: &World, kind: Extension, object: u32) -> bool {
        let key = (kind, object);
        world.get::<Fib<Ip4>>().inner().objects.contains_key(&key)
            || world.get::<Fib<Ip6>>().inner().objects.contains_key(&key)
    }
}

/// Maximum number of labels of a path.
pub const MAX_LABELS: usize = 16;

/// A stack of MPLS labels (RFC 3032), the outermost first, without the bottom-of-stack bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Labels {
    len: u8,
    all: [u32; MAX_LABELS],
}

impl Labels {
    /// No labels.
    pub const NONE: Self = Self { len: 0, all: [0; MAX_LABELS] };

    /// Makes a stack of these labels; `None` for more than [`MAX_LABELS`].
    pub fn new(labels: &[u32]) -> Option<Self> {
        let mut all = [0; MAX_LABELS];
        all.get_mut(..labels.len())?.copy_from_slice(labels);
        Some(Self { len: labels.len() as u8, all })
    }

    /// The labels.
    pub fn as_slice(&self) -> &[u32] {
        &self.all[..usize::from(self.len)]
    }

    /// Returns true if there are no labels.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Kinds of paths that features implement.

use crate::{AdjIndex, Link};
use cli::Error;
use graph::{Shared, World};
use msg::retval;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

/// A kind of path whose packets a feature takes. Without the feature such paths are refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Extension {
    /// As if the packet had come in by the interface of this number.
    InterfaceRx,
    /// Put into UDP, by an encapsulation.
    UdpEncap,
    /// As a classifier's table says.
    Classify,
}

impl Extension {
    /// The name in messages and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InterfaceRx => "interface-rx",
            Self::UdpEncap => "udp-encap",
            Self::Classify => "classify",
        }
    }
}

/// Returns the adjacency for packets to an object of a feature. The caller gets a reference on it.
pub type Taker = fn(&World, Link, u32) -> Result<AdjIndex, Error>;

/// The features that take paths, by kind.
#[derive(Default)]
pub struct Extensions(Mutex<HashMap<Extension, Taker>>);

impl Shared for Extensions {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Extensions {
    fn takers(&self) -> MutexGuard<'_, HashMap<Extension, Taker>> {
        self.0.lock().expect("no panic inside")
    }

    /// Registers the feature that takes paths of this kind. Called once by its plugin.
    pub fn register(&self, kind: Extension, taker: Taker) {
        self.takers().insert(kind, taker);
    }

    /// The feature that takes paths of this kind.
    ///
    /// # Errors
    /// There is none (−9).
    pub(super) fn taker(&self, kind: Extension) -> Result<Taker, Error> {
        let nobody = || Error::unsupported(format!("no feature takes {} paths yet", kind.name()));
        self.takers().get(&kind).copied().ok_or_else(|| nobody().retval(retval::UNIMPLEMENTED))
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

    /// These; `None` for more than [`MAX_LABELS`].
    pub fn new(labels: &[u32]) -> Option<Self> {
        let mut all = [0; MAX_LABELS];
        all.get_mut(..labels.len())?.copy_from_slice(labels);
        Some(Self { len: labels.len() as u8, all })
    }

    /// The labels.
    pub fn as_slice(&self) -> &[u32] {
        &self.all[..usize::from(self.len)]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

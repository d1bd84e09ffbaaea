// SPDX-License-Identifier: Apache-2.0
//! Registration of a classifier: a feature that decides by its tables which packets are traced or
//! captured.

use buffer::Buffer;
use cli::Error;
use graph::{Shared, SwIfIndex, World};
use msg::retval;
use std::sync::{Arc, OnceLock};
use sync::Turn;

/// The use of packets that a classifier selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A trace.
    Trace,
    /// A capture of packets of this interface, or of any.
    Capture(Option<SwIfIndex>),
}

/// Decides which packets are traced or captured. Called on the packet path, only while such packets
/// are requested.
pub trait Classifier: Send + Sync {
    /// Returns true if the packet matches. It begins with the header that it has on the wire.
    fn accepts(&self, purpose: Purpose, packet: &Buffer, turn: &Turn<'_>) -> bool;
}

/// The classifier, once a feature has registered it.
#[derive(Default)]
pub struct Registered(OnceLock<Arc<dyn Classifier>>);

impl Shared for Registered {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

/// Lets a feature decide which packets are traced by `trace add … filter` and captured by `pcap
/// trace … filter`, unless an expression decides.
///
/// # Errors
/// Another feature that has registered before.
pub fn register_classifier(world: &World, classifier: Arc<dyn Classifier>) -> Result<(), String> {
    let set = world.get::<Registered>().0.set(classifier);
    set.map_err(|_| "another feature decides which packets are traced".to_string())
}

/// The classifier.
///
/// # Errors
/// No feature has registered one (−9).
pub fn classifier(world: &World) -> Result<Arc<dyn Classifier>, Error> {
    world.get::<Registered>().0.get().cloned().ok_or_else(|| {
        Error::unsupported("the classifier isn't enabled")
            .hint("`set trace filter function bpf_trace_filter' and `set pcap filter function bpf_trace_filter' let an expression decide")
            .retval(retval::UNIMPLEMENTED)
    })
}

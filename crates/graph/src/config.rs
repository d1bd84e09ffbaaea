// SPDX-License-Identifier: Apache-2.0
//! Configuration of a feature on one interface.

use crate::Node;
use mem::Plain;
use std::any::{TypeId, type_name};
use zerocopy::IntoBytes;

/// The configuration of a feature, as a step of a chain holds it.
pub(crate) type ConfigWords = [u32; 3];

/// The node of a feature that has a configuration on each interface. A plugin lists it with
/// [`NodeDef::configured`](crate::NodeDef::configured), control sets it with
/// [`World::configure_feature`](crate::World::configure_feature), and the node reads that of a
/// packet with [`Cx::feature_config`](crate::Cx::feature_config).
pub trait Configured: Node {
    /// Its type: plain data of at most 12 bytes, which stand in the chain beside the node. The
    /// default value is in force on an interface where only the operator wants the feature. A
    /// feature that needs more keeps it in [`sync::Slots`] and has the index here.
    type Config: Plain;
}

/// Words that a configuration of this type takes.
pub(crate) const fn words_of<C: Plain>() -> usize {
    assert!(
        size_of::<C>() <= size_of::<ConfigWords>(),
        "a feature's configuration has at most 12 bytes"
    );
    size_of::<C>().div_ceil(4)
}

/// A configuration as words.
pub(crate) fn to_words<C: Plain>(config: C) -> ConfigWords {
    const { words_of::<C>() };
    let mut words = ConfigWords::default();
    config.store(words.as_mut_bytes());
    words
}

/// The type of a feature's configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfigType {
    id: TypeId,
    name: &'static str,
    /// The default value.
    pub default: ConfigWords,
}

impl ConfigType {
    /// This type.
    pub fn of<C: Plain>() -> Self {
        Self { id: TypeId::of::<C>(), name: type_name::<C>(), default: to_words(C::default()) }
    }

    /// Returns true if it is the type `C`.
    #[inline(always)]
    pub fn is<C: Plain>(&self) -> bool {
        self.id == TypeId::of::<C>()
    }

    /// Checks that it is the type `C`.
    ///
    /// # Errors
    /// Both types' names.
    pub fn check<C: Plain>(&self, feature: &str) -> Result<(), String> {
        let Self { name, .. } = self;
        let what = || {
            format!(
                "feature {feature} is configured by {}, and listed with {name}",
                type_name::<C>()
            )
        };
        self.is::<C>().then_some(()).ok_or_else(what)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The input feature bitmap.

use bitflags::bitflags;
use std::fmt;

bitflags! {
    /// Features that a frame passes, each a bit at VPP's position. They run from the highest bit.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    pub struct Features: u32 {
        /// The end of every bitmap of a bridged interface: the frame is dropped.
        const DROP = 1 << 0;
        /// Frames go to the peer of a cross-connect.
        const XCONNECT = 1 << 1;
        /// Frames go to all members.
        const FLOOD = 1 << 2;
        /// ARP requests go to the unknown-unicast port alone.
        const ARP_UFWD = 1 << 3;
        /// ARP and ND termination.
        const ARP_TERM = 1 << 4;
        /// Unicast to unknown destinations goes to all members.
        const UU_FLOOD = 1 << 5;
        /// Unicast to unknown destinations goes to the unknown-unicast port.
        const UU_FWD = 1 << 6;
        /// The destination is looked up.
        const FWD = 1 << 7;
        /// The source is learned.
        const LEARN = 1 << 9;
        /// VLAN tags are rewritten.
        const VTR = 1 << 11;
        /// Input ACL.
        const ACL = 1 << 14;
        /// The arcs of what frames carry.
        const FEATURE_ARC = 1 << 17;
        /// The classifier's tables are looked up.
        const CLASSIFY = 1 << 18;
        /// Frames are copied to mirror ports.
        const SPAN = 1 << 19;
        /// A client may switch on any bit.
        const _ = !0;
    }
}

impl Features {
    /// Features of other plugins, in front of all others. They don't depend on the domain.
    pub const ATTACHED: Self =
        Self::SPAN.union(Self::CLASSIFY).union(Self::FEATURE_ARC).union(Self::ACL);

    /// Features that a domain and each of its interfaces switch on or off.
    pub const SWITCHED: Self = Self::DROP
        .union(Self::FLOOD)
        .union(Self::ARP_TERM)
        .union(Self::ARP_UFWD)
        .union(Self::UU_FLOOD)
        .union(Self::UU_FWD)
        .union(Self::FWD)
        .union(Self::LEARN);
    /// Features that only neighbour requests (ARP, ND) pass.
    pub const QUESTIONS: Self = Self::ARP_TERM.union(Self::ARP_UFWD);
    /// Features that frames to groups don't pass.
    pub const UNICAST: Self = Self::FWD.union(Self::UU_FLOOD).union(Self::UU_FWD);

    /// The features that follow one.
    #[inline(always)]
    pub const fn behind(self, feature: Self) -> Self {
        Self::from_bits_retain(self.bits() & (feature.bits() - 1))
    }

    /// The feature that is next.
    #[inline(always)]
    pub const fn next(self) -> Step {
        if self.is_empty() {
            return Step::Drop;
        }
        match Self::from_bits_retain(1 << self.bits().ilog2()) {
            Self::VTR => Step::Vtr,
            Self::LEARN => Step::Learn,
            Self::FWD => Step::Fwd,
            Self::UU_FWD | Self::ARP_UFWD => Step::UuFwd,
            Self::ARP_TERM => Step::ArpTerm,
            Self::UU_FLOOD | Self::FLOOD => Step::Flood,
            Self::XCONNECT => Step::Output,
            _ => Step::Drop,
        }
    }
}

/// The node that a bitmap leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// `l2-input-vtr`.
    Vtr,
    /// `l2-learn`.
    Learn,
    /// `l2-fwd`.
    Fwd,
    /// `l2-uu-fwd`.
    UuFwd,
    /// `arp-term-l2bd`.
    ArpTerm,
    /// `l2-flood`.
    Flood,
    /// `l2-output`.
    Output,
    /// `feature-bitmap-drop`.
    Drop,
}

/// Adds the nodes of [`Step`] as edges to a node's enum of next nodes, with the conversion from a
/// [`Step`].
macro_rules! steps {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(graph::Next, Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $name {
            $($body)*
            #[next("l2-input-vtr")]
            Vtr,
            #[next("l2-learn")]
            Learn,
            #[next("l2-fwd")]
            Fwd,
            #[next("l2-uu-fwd")]
            UuFwd,
            #[next("arp-term-l2bd")]
            ArpTerm,
            #[next("l2-flood")]
            Flood,
            #[next("l2-output")]
            Output,
            #[next("feature-bitmap-drop")]
            NoFeature,
        }

        impl From<$crate::features::Step> for $name {
            #[inline(always)]
            fn from(step: $crate::features::Step) -> Self {
                match step {
                    $crate::features::Step::Vtr => Self::Vtr,
                    $crate::features::Step::Learn => Self::Learn,
                    $crate::features::Step::Fwd => Self::Fwd,
                    $crate::features::Step::UuFwd => Self::UuFwd,
                    $crate::features::Step::ArpTerm => Self::ArpTerm,
                    $crate::features::Step::Flood => Self::Flood,
                    $crate::features::Step::Output => Self::Output,
                    $crate::features::Step::Drop => Self::NoFeature,
                }
            }
        }
    };
}
pub(crate) use steps;

/// The nodes of features, in the order in which they run.
pub const NODES: [(Features, &str); 14] = [
    (Features::SPAN, "span-l2-input"),
    (Features::CLASSIFY, "l2-input-classify"),
    (Features::FEATURE_ARC, "l2-input-feat-arc"),
    (Features::ACL, "l2-input-acl"),
    (Features::VTR, "l2-input-vtr"),
    (Features::LEARN, "l2-learn"),
    (Features::FWD, "l2-fwd"),
    (Features::UU_FWD, "l2-uu-fwd"),
    (Features::UU_FLOOD, "l2-flood"),
    (Features::ARP_TERM, "arp-term-l2bd"),
    (Features::ARP_UFWD, "l2-uu-fwd"),
    (Features::FLOOD, "l2-flood"),
    (Features::XCONNECT, "l2-output"),
    (Features::DROP, "feature-bitmap-drop"),
];

impl fmt::Display for Features {
    /// The nodes, in the order in which they run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut space = "";
        for (feature, node) in NODES {
            if self.contains(feature) {
                write!(f, "{space}{node}")?;
                space = " ";
            }
        }
        Ok(())
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Features of interfaces in layer-2 mode, as bits that clients read and switch.

use crate::attach::OutputFeatures;
use crate::bridge::Bridge;
use crate::features::Features;
use crate::mode::Mode;
use crate::vtr;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;

impl Bridge {
    /// Features of the frames that a bridged interface receives.
    ///
    /// # Errors
    /// An interface that isn't there, or isn't bridged (−2).
    pub fn port_features(&self, world: &World, sw_if: SwIfIndex) -> Result<Features> {
        world.get::<Interfaces>().check(sw_if)?;
        match self.mode(sw_if) {
            Some(Mode::Bridge { features, .. }) => Ok(features),
            _ => Err(not_bridged(world, sw_if)),
        }
    }

    /// Bitmaps of an interface in layer-2 mode: features of received frames, and of frames that it
    /// sends.
    ///
    /// # Errors
    /// An interface that isn't there, or isn't in layer-2 mode (−2).
    pub fn bitmaps(&self, world: &World, sw_if: SwIfIndex) -> Result<(Features, u32)> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        let mut input = match self.mode(sw_if) {
            Some(Mode::Bridge { features, .. }) => features,
            Some(Mode::Xconnect(_)) => Features::XCONNECT,
            None => {
                return Err(Error::failed(format!("{} is not in layer-2 mode", interface.name))
                    .retval(retval::INVALID_SW_IF_INDEX));
            }
        };
        let attached = self.control().attached.get(&sw_if).copied().unwrap_or_default();
        let mut output = attached.output | OutputFeatures::OUTPUT;
        output.set(OutputFeatures::EFP_FILTER, self.has_efp_filter(sw_if));
        input.set(Features::VTR, vtr::rewrites(world, &interface).is_some());
        Ok((input | attached.input, output.bits()))
    }

    /// Switches bits of [`Self::bitmaps`] on or off. An ACL, classification or mirroring that is
    /// switched off stays configured, and one that is switched on without a configuration lets all
    /// frames go on.
    ///
    /// # Errors
    /// As [`Self::bitmaps`]; bits of features that aren't built, or aren't switched so (−9).
    pub fn set_bitmaps(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        (input, output): (Features, u32),
        on: bool,
    ) -> Result<()> {
        let (input_now, output_now) = self.bitmaps(world, sw_if)?;
        let is_bridged = matches!(self.mode(sw_if), Some(Mode::Bridge { .. }));
        let (input, output) = if on {
            (input - input_now, output & !output_now)
        } else {
            (input & input_now, output & output_now)
        };
        let own = if is_bridged { Features::SWITCHED } else { Features::empty() };
        let (attached_input, attached_output) = self.attached.switched();
        let unknown = (
            input - own - attached_input,
            output & !(OutputFeatures::EFP_FILTER.bits() | attached_output.bits()),
        );
        if unknown != (Features::empty(), 0) {
            let why = format!(
                "bits {:#x} of received and {:#x} of sent frames can't be switched",
                unknown.0, unknown.1
            );
            return Err(Error::unsupported(why).retval(retval::UNIMPLEMENTED));
        }
        if output & OutputFeatures::EFP_FILTER.bits() != 0 {
            self.set_efp_filter(world, sw_if, on)?;
        }
        let received = input & attached_input;
        let sent = OutputFeatures::from_bits_retain(output & attached_output.bits());
        if (received, sent) != (Features::empty(), OutputFeatures::default()) {
            self.set_input_feature(world, sw_if, received, on);
            self.set_output_feature(world, sw_if, sent, on);
        }
        if is_bridged {
            self.set_port_features(world, sw_if, input, on)?;
        }
        Ok(())
    }

    /// Switches features of received frames on or off for a bridged interface, and returns its
    /// bitmap.
    ///
    /// # Errors
    /// An interface that isn't there, or isn't bridged (−2).
    pub fn set_port_features(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        which: Features,
        on: bool,
    ) -> Result<Features> {
        self.port_features(world, sw_if)?;
        let mut control = self.control();
        let Some(Mode::Bridge { id, features, .. }) = control.modes.get_mut(&sw_if) else {
            return Err(not_bridged(world, sw_if));
        };
        features.set(which & Features::SWITCHED, on);
        let (id, now) = (*id, *features);
        if !now.contains(Features::ARP_TERM) {
            // Their messages aren't read from now on, so entries could become wrong.
            control.retain_snooped(id, |snooped| snooped.sw_if != sw_if.0);
        }
        self.publish_port(world, &control, sw_if);
        drop(control);
        world.note_config_change();
        Ok(now)
    }
}

/// The error for an interface that isn't in a bridge domain.
pub fn not_bridged(world: &World, sw_if: SwIfIndex) -> Error {
    let name = world.get::<Interfaces>().name(sw_if);
    Error::failed(format!("{name} is in no bridge domain")).retval(retval::INVALID_SW_IF_INDEX)
}

// SPDX-License-Identifier: Apache-2.0
//! Bridge domains: the main thread's part.

use crate::bridge::{Bridge, Control, Retiring};
use crate::features::Features;
use crate::mode::{Mode, PortKind};
use crate::state::{Domain, Learned, Member};
use crate::termination::Hosts;
use crate::termination::snoop::SnoopedHosts;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::{FloodRole, Interfaces};
use object::Arguments;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use tables::mac::MacKey;
use wire::MacAddr;

/// The largest id of a domain.
pub const MAX_DOMAIN_ID: u32 = (1 << 24) - 1;
/// Default limit of the number of addresses that a domain learns, and all domains together.
pub const DEFAULT_LEARN_LIMIT: u32 = 1 << 24;
/// Maximum length of a tag in bytes.
pub const MAX_TAG: usize = 63;

/// The configuration of a domain.
#[derive(Arguments, Clone, PartialEq, Eq, Debug)]
pub struct DomainConfig {
    /// True if source addresses are learned.
    #[words("[learn <learn:0-1>]", default = Self::default().learn, always)]
    pub learn: bool,
    /// True if destination addresses are looked up.
    #[words("[forward <forward:0-1>]", default = Self::default().forward, always)]
    pub forward: bool,
    /// True if unicast frames to unknown destinations go to all members.
    #[words("[uu-flood <uu-flood:0-1>]", default = Self::default().uu_flood, always)]
    pub uu_flood: bool,
    /// True if frames to group addresses go to all members.
    #[words("[flood <flood:0-1>]", default = Self::default().flood, always)]
    pub flood: bool,
    /// True if requests for configured or snooped hosts are answered (ARP and ND termination).
    #[words("[arp-term <arp-term:0-1>]", default, always)]
    pub arp_term: bool,
    /// True if hosts are learned from the messages that ARP termination parses.
    #[unsaid]
    pub arp_snoop: bool,
    /// True if ARP requests go to the unknown-unicast port alone, if there is one.
    #[words("[arp-ufwd <arp-ufwd:0-1>]", default, always)]
    pub arp_ufwd: bool,
    /// Minutes after which an address that sends nothing is forgotten; 0 for never.
    #[words("[mac-age <mac-age:0-255>]", default, always)]
    pub mac_age: u8,
    /// A user's note.
    #[words("[bd-tag <tag:string>]", default)]
    pub tag: String,
}

impl Default for DomainConfig {
    /// Returns the configuration of a domain created without arguments.
    fn default() -> Self {
        Self {
            learn: true,
            forward: true,
            uu_flood: true,
            flood: true,
            arp_term: false,
            arp_snoop: false,
            arp_ufwd: false,
            mac_age: 0,
            tag: String::new(),
        }
    }
}

impl DomainConfig {
    /// Returns the flag that switches a feature, if there is one.
    pub fn flag(&mut self, feature: Features) -> Option<&mut bool> {
        Some(match feature {
            Features::LEARN => &mut self.learn,
            Features::FWD => &mut self.forward,
            Features::FLOOD => &mut self.flood,
            Features::UU_FLOOD => &mut self.uu_flood,
            Features::ARP_TERM => &mut self.arp_term,
            Features::ARP_UFWD => &mut self.arp_ufwd,
            _ => return None,
        })
    }
}

/// A domain in the main thread's state.
pub struct DomainState {
    /// Its index.
    pub index: u16,
    /// Its configuration.
    pub config: DomainConfig,
    /// Members in the order of dumps: the BVI, ports, then interfaces that floods don't go to.
    /// Without the unknown-unicast port.
    pub members: Vec<SwIfIndex>,
    /// The BVI.
    pub bvi: Option<SwIfIndex>,
    /// The address of the BVI's entry.
    pub bvi_mac: Option<MacAddr>,
    /// The unknown-unicast port.
    pub uu_fwd: Option<SwIfIndex>,
    /// Learned addresses.
    pub learned: Arc<Learned>,
    /// Configured hosts that it answers for.
    pub hosts: BTreeMap<IpAddr, MacAddr>,
    /// Snooped hosts; none of them is configured.
    pub snooped: SnoopedHosts,
    /// Configured and snooped hosts, as published to workers.
    pub published_hosts: Arc<Hosts>,
}

/// A member of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberInfo {
    /// The interface.
    pub sw_if: SwIfIndex,
    /// Its split-horizon group.
    pub shg: u8,
    /// Its generation number.
    pub generation: u8,
    /// True for the BVI.
    pub is_bvi: bool,
    /// True if flooded frames go to it.
    pub floods: bool,
}

/// The configuration and state of a domain, as shown.
#[derive(Clone, Debug)]
pub struct DomainInfo {
    /// Its id.
    pub id: u32,
    /// Its index.
    pub index: u16,
    /// Its configuration.
    pub config: DomainConfig,
    /// Its generation number.
    pub generation: u8,
    /// Number of learned addresses, and their limit.
    pub learned: (u32, u32),
    /// Number of snooped hosts, their limit, and number of hosts refused because of limits.
    pub snooped: (usize, usize, u64),
    /// Its members, without the unknown-unicast port.
    pub members: Vec<MemberInfo>,
    /// The BVI.
    pub bvi: Option<SwIfIndex>,
    /// The unknown-unicast port.
    pub uu_fwd: Option<SwIfIndex>,
}

impl DomainState {
    /// Returns its bitmap: the configured features, and forwarding to the unknown-unicast port if
    /// there is one.
    pub fn features(&self) -> Features {
        let DomainConfig { learn, forward, flood, uu_flood, arp_term, arp_ufwd, .. } = self.config;
        let has_port = self.uu_fwd.is_some();
        let switched = [
            (Features::LEARN, learn),
            (Features::FWD, forward),
            (Features::FLOOD, flood),
            (Features::UU_FLOOD, uu_flood),
            (Features::UU_FWD, has_port),
            (Features::ARP_TERM, arp_term),
            (Features::ARP_UFWD, arp_ufwd && has_port),
        ];
        let on = switched.into_iter().filter(|(_, on)| *on).map(|(feature, _)| feature);
        Features::DROP | on.collect()
    }
}

impl Control {
    /// Returns the domain with this id, to change it.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6).
    pub fn domain(&mut self, id: u32) -> Result<&mut DomainState> {
        if id == 0 {
            return Err(Error::failed("bridge domain 0 drops all frames and can't be changed")
                .retval(retval::BD_NOT_MODIFIABLE));
        }
        self.domains.get_mut(&id).ok_or_else(|| {
            Error::not_found(format!("No such bridge domain {id}")).retval(retval::NO_SUCH_ENTRY)
        })
    }

    fn member(&self, world: &World, sw_if: SwIfIndex) -> MemberInfo {
        let (shg, is_bvi) = match self.modes.get(&sw_if) {
            Some(Mode::Bridge { kind, shg, .. }) => (*shg, *kind == PortKind::Bvi),
            _ => (0, false),
        };
        MemberInfo {
            sw_if,
            shg,
            generation: self.port_generation(sw_if),
            is_bvi,
            // Frames sent by a loopback interface are received there again.
            floods: is_bvi || !ethernet::is_loopback(world, sw_if),
        }
    }

    fn info(&self, world: &World, id: u32, state: &DomainState) -> DomainInfo {
        DomainInfo {
            id,
            index: state.index,
            config: state.config.clone(),
            generation: self.domain_generation(state.index),
            learned: (state.learned.count(), state.learned.limit()),
            snooped: (
                state.snooped.hosts().len(),
                self.snoop_limits.domain,
                state.snooped.refused(),
            ),
            members: state.members.iter().map(|sw_if| self.member(world, *sw_if)).collect(),
            bvi: state.bvi,
            uu_fwd: state.uu_fwd,
        }
    }

    /// Returns the generation number of the domain with this index.
    pub fn domain_generation(&self, index: u16) -> u8 {
        self.domain_generations.get(usize::from(index)).copied().unwrap_or_default()
    }

    /// Allocates an index for a new domain.
    fn take_index(&mut self, id: u32) -> Option<u16> {
        let free = self.ids.iter().position(Option::is_none).unwrap_or(self.ids.len());
        let index = u16::try_from(free).ok().filter(|index| *index < MacKey::MAX_DOMAINS)?;
        if free == self.ids.len() {
            self.ids.push(None);
            self.domain_generations.push(0);
        }
        self.ids[free] = Some(id);
        Some(index)
    }
}

/// Checks the id of a domain.
///
/// # Errors
/// An id that is too large (−122).
pub fn check_id(id: u32) -> Result<()> {
    if id > MAX_DOMAIN_ID {
        return Err(Error::parse(format!(
            "the id of a bridge domain is at most {MAX_DOMAIN_ID}, not {id}"
        ))
        .retval(retval::BD_ID_EXCEED_MAX));
    }
    Ok(())
}

impl Bridge {
    /// Publishes a domain to workers.
    pub(crate) fn publish_domain(&self, world: &World, control: &Control, id: u32) {
        let Some(state) = control.domains.get(&id) else { return };
        let interfaces = world.get::<Interfaces>();
        let has_role = |sw_if: SwIfIndex, role| interfaces.flood_role(sw_if) == role;
        let has_group = state.members.iter().any(|sw_if| has_role(*sw_if, FloodRole::Group));
        let reached = |sw_if: &&SwIfIndex| !has_group || !has_role(**sw_if, FloodRole::OneOfGroup);
        let members = state.members.iter().rev().filter(reached);
        let members = members.map(|sw_if| control.member(world, *sw_if));
        // Copies are made in this order: the BVI, which is the first member, gets the last.
        let members = members.filter(|member| member.floods).map(|member| Member {
            sw_if: member.sw_if.0,
            shg: member.shg,
            is_bvi: member.is_bvi,
        });
        let domain = Domain {
            features: state.features(),
            generation: control.domain_generation(state.index),
            learned: state.learned.clone(),
            members: members.collect(),
            uu_fwd: state.uu_fwd.map(|sw_if| sw_if.0),
            hosts: Some(state.published_hosts.clone()),
            snoops: state.snoops(),
        };
        self.domains.set(state.index.into(), domain);
    }

    /// Creates a domain.
    ///
    /// # Errors
    /// Domain 0 (−121); an id that is too large (−122); a domain that is there (−119); a tag that
    /// is too long (−7); too many domains (−162).
    pub fn create_domain(&self, world: &World, id: u32, config: DomainConfig) -> Result<()> {
        check_id(id)?;
        let mut control = self.control();
        if id != 0 && control.domains.contains_key(&id) {
            return Err(Error::failed(format!("there is a bridge domain {id} already"))
                .retval(retval::BD_ALREADY_EXISTS));
        }
        if config.tag.len() > MAX_TAG {
            let why = format!("a tag has at most {MAX_TAG} bytes, not {}", config.tag.len());
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        if id == 0 {
            control.domain(0)?;
        }
        let index = control.take_index(id).ok_or_else(|| {
            let why = format!("too many bridge domains, {} at most", MacKey::MAX_DOMAINS - 1);
            Error::limit(why).retval(retval::LIMIT_EXCEEDED)
        })?;
        let learned = Arc::new(Learned::new(control.default_limit));
        let state = DomainState {
            index,
            config,
            members: Vec::new(),
            bvi: None,
            bvi_mac: None,
            uu_fwd: None,
            learned,
            hosts: BTreeMap::new(),
            snooped: SnoopedHosts::default(),
            published_hosts: Arc::new(Hosts::new(world.qsbr.clone())),
        };
        control.domains.insert(id, state);
        self.publish_domain(world, &control, id);
        drop(control);
        self.ager.raise();
        world.note_config_change();
        Ok(())
    }

    /// Creates a domain with the lowest id that is free, and returns the id.
    ///
    /// # Errors
    /// As [`Self::create_domain`]; no id is free (−165).
    pub fn create_any_domain(&self, world: &World, config: DomainConfig) -> Result<u32> {
        let free = {
            let control = self.control();
            (1..=MAX_DOMAIN_ID).find(|id| !control.domains.contains_key(id))
        };
        let id = free.ok_or_else(|| Error::limit("no id is free").retval(retval::EAGAIN))?;
        self.create_domain(world, id, config)?;
        Ok(id)
    }

    /// Deletes a domain, with all its MAC addresses. Its unknown-unicast port routes again.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6); one that has members (−120).
    pub fn delete_domain(&self, world: &World, id: u32) -> Result<()> {
        let uu_fwd = {
            let mut control = self.control();
            let domain = control.domain(id)?;
            if let Some(first) = domain.members.first() {
                let name = world.get::<Interfaces>().name(*first);
                return Err(Error::failed(format!("bridge domain {id} has members: {name}"))
                    .retval(retval::BD_IN_USE));
            }
            domain.uu_fwd
        };
        if let Some(sw_if) = uu_fwd {
            self.set_l3(world, sw_if)?;
        }
        self.remove_provisioned(|of, _| of == id);
        let mut control = self.control();
        control.retain_snooped(id, |_| false);
        let Some(DomainState { index, learned, .. }) = control.domains.remove(&id) else {
            return Ok(());
        };
        // Nothing is learned there any more, and nothing forwarded.
        let generation = control.domain_generation(index);
        let features = Features::DROP;
        let nothing = Domain {
            features,
            generation,
            learned,
            members: Vec::new(),
            uu_fwd: None,
            hosts: None,
            snoops: false,
        };
        self.domains.set(index.into(), nothing);
        control.provisioned.retain(|(of, _)| *of != id);
        control.retiring.push(Retiring { index, grace: world.qsbr.grace(), sweep: None });
        drop(control);
        self.ager.raise();
        world.note_config_change();
        Ok(())
    }

    /// Returns true if there is no domain, no address and no index to be freed.
    pub(crate) fn is_unused(&self) -> bool {
        let control = self.control();
        control.domains.is_empty() && control.retiring.is_empty() && self.macs.is_empty()
    }

    /// Frees the indices of deleted domains that have no entries any more. Called about once a
    /// second.
    pub(crate) fn retire_domains(&self) {
        let mut control = self.control();
        let Control { retiring, flushes, swept, ids, .. } = &mut *control;
        retiring.retain_mut(|Retiring { index, grace, sweep }| {
            if sweep.is_none() && grace.is_over() {
                *flushes += 1;
                *sweep = Some(*flushes);
            }
            let is_over = sweep.is_some_and(|sweep| *swept >= sweep);
            if is_over {
                self.domains.clear((*index).into());
                ids[usize::from(*index)] = None;
            }
            !is_over
        });
    }

    /// Changes the configuration of a domain.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6).
    pub fn configure_domain(
        &self,
        world: &World,
        id: u32,
        f: impl FnOnce(&mut DomainConfig),
    ) -> Result<()> {
        let mut control = self.control();
        let domain = control.domain(id)?;
        f(&mut domain.config);
        let snoops = domain.snoops();
        if snoops {
            self.sightings.prepare();
        } else {
            // Their messages aren't parsed from now on, so entries could become wrong.
            control.retain_snooped(id, |_| false);
        }
        self.publish_domain(world, &control, id);
        drop(control);
        if snoops {
            self.snoop_ager.raise();
        }
        world.note_config_change();
        Ok(())
    }

    /// Sets the maximum number of addresses that a domain learns. Learned addresses stay.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6).
    pub fn set_learn_limit(&self, world: &World, id: u32, limit: u32) -> Result<()> {
        self.control().domain(id)?.learned.set_limit(limit);
        world.note_config_change();
        Ok(())
    }

    /// Sets the maximum number of addresses that each domain created from now on learns.
    pub fn set_default_learn_limit(&self, world: &World, limit: u32) {
        self.control().default_limit = limit;
        world.note_config_change();
    }

    /// Returns the maximum number of addresses that new domains learn.
    pub fn default_learn_limit(&self) -> u32 {
        self.control().default_limit
    }

    /// Returns a domain; `None` if it does not exist. Domain 0 isn't shown.
    pub fn domain_info(&self, world: &World, id: u32) -> Option<DomainInfo> {
        let control = self.control();
        control.domains.get(&id).map(|state| control.info(world, id, state))
    }

    /// Returns the number of members of a domain, without the unknown-unicast port.
    pub fn member_count(&self, id: u32) -> usize {
        self.control().domains.get(&id).map_or(0, |domain| domain.members.len())
    }

    /// Returns the ids of all domains but 0, ascending.
    pub fn domain_ids(&self) -> Vec<u32> {
        self.control().domains.keys().copied().collect()
    }

    /// Returns the bitmap of a domain, for clients.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6).
    pub fn domain_features(&self, id: u32) -> Result<Features> {
        Ok(self.control().domain(id)?.features())
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Configured keys, and the sessions that use them.

use crate::auth::{Auth, AuthType, KEY_LEN};
use cli::{Error, Result};
use msg::retval;
use std::collections::BTreeMap;

/// A session's use of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyUse {
    /// Number in the configuration.
    pub conf_key_id: u32,
    /// Number in packets.
    pub bfd_key_id: u8,
}

/// A key.
#[derive(Clone)]
pub struct Key {
    /// Type of authentication.
    pub kind: AuthType,
    /// 1 to 20 bytes.
    pub secret: Vec<u8>,
    /// Number of uses.
    pub uses: u32,
}

/// All keys by number.
#[derive(Default)]
pub struct Keys(pub BTreeMap<u32, Key>);

fn none(id: u32) -> Error {
    Error::not_found(format!("there is no key {id}")).retval(retval::BFD_NO_SUCH_OBJECT)
}

fn in_use(id: u32) -> Error {
    Error::failed(format!("sessions use the key {id}")).retval(retval::BFD_IN_USE)
}

impl Keys {
    /// Adds a key, or replaces an unused one.
    ///
    /// # Errors
    /// See `Bfd::set_key`.
    pub fn set(&mut self, id: u32, kind: u8, secret: &[u8]) -> Result<()> {
        if !(1..=KEY_LEN).contains(&secret.len()) {
            let why = format!("a key has 1 to {KEY_LEN} bytes, not {}", secret.len());
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        let kind = AuthType::of(kind)?;
        if self.0.get(&id).is_some_and(|key| key.uses > 0) {
            return Err(in_use(id));
        }
        self.0.insert(id, Key { kind, secret: secret.to_vec(), uses: 0 });
        Ok(())
    }

    /// Deletes an unused key.
    ///
    /// # Errors
    /// See `Bfd::delete_key`.
    pub fn delete(&mut self, id: u32) -> Result<()> {
        match self.0.get(&id) {
            None => Err(none(id)),
            Some(key) if key.uses > 0 => Err(in_use(id)),
            Some(_) => {
                self.0.remove(&id);
                Ok(())
            }
        }
    }

    /// Notes another use of a key; returns the key as packets need it.
    ///
    /// # Errors
    /// A key that isn't there (−102).
    pub fn take(&mut self, of: KeyUse) -> Result<Auth> {
        let key = self.0.get_mut(&of.conf_key_id).ok_or_else(|| none(of.conf_key_id))?;
        key.uses += 1;
        let mut secret = [0; KEY_LEN];
        secret[..key.secret.len()].copy_from_slice(&key.secret);
        Ok(Auth { kind: key.kind, key_id: of.bfd_key_id, secret })
    }

    /// Notes the end of a use.
    pub fn give(&mut self, of: KeyUse) {
        if let Some(key) = self.0.get_mut(&of.conf_key_id) {
            key.uses = key.uses.saturating_sub(1);
        }
    }
}

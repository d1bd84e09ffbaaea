// SPDX-License-Identifier: Apache-2.0
//! Groups and users by name, and users' names: as the system's databases have them, wherever they lie.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use nix::unistd::{Group, Uid, User};

use crate::config::values::Account;

/// The number of a group.
pub fn gid(account: &Account) -> Result<u32, String> {
    number(account, "group", |name| Group::from_name(name).map(|g| g.map(|g| g.gid.as_raw())))
}

/// The number of a group that sockets are for. One that isn't there is no reason not to start: the sockets stay the daemon's own.
pub fn group(account: Option<&Account>) -> Option<u32> {
    gid(account?)
        .map_err(|why| log::warn!(target: "config", "{why}: nobody but the daemon's user gets its rights"))
        .ok()
}

/// The number of a user.
pub fn uid(account: &Account) -> Result<u32, String> {
    number(account, "user", |name| User::from_name(name).map(|u| u.map(|u| u.uid.as_raw())))
}

/// A user's name; its number where it has none. Looked up once: the database may be on another host.
pub fn user_name(uid: u32) -> String {
    static KNOWN: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let look_up = || User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name);
    known.entry(uid).or_insert_with(|| look_up().unwrap_or_else(|| format!("user {uid}"))).clone()
}

fn number(
    account: &Account,
    kind: &str,
    find: impl FnOnce(&str) -> nix::Result<Option<u32>>,
) -> Result<u32, String> {
    let name = match account {
        Account::Id(id) => return Ok(*id),
        Account::Name(name) => name,
    };
    let found = find(name).map_err(|e| format!("{kind} `{name}`: {}", e.desc()))?;
    found.ok_or_else(|| format!("there is no {kind} `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        let name = |name: &str| Account::Name(name.into());
        assert_eq!(gid(&Account::Id(7)), Ok(7));
        assert_eq!((gid(&name("root")), uid(&name("root"))), (Ok(0), Ok(0)));
        assert_eq!(gid(&name("no-such-group")), Err("there is no group `no-such-group`".into()));
        assert_eq!(uid(&name("no-such-user")), Err("there is no user `no-such-user`".into()));
        assert_eq!((user_name(0), user_name(4_123_456_789)), ("root".into(), "user 4123456789".into()));
    }
}

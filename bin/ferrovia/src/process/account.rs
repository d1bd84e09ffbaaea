// SPDX-License-Identifier: Apache-2.0
//! Groups and users by name, and users' names: as the system's databases have them, wherever they
//! lie.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use nix::unistd::{Group, Uid, User};

use startup::value::Account;

/// The number of a group.
pub fn gid(account: &Account) -> Result<u32, String> {
    number(account, "group", |name| Group::from_name(name).map(|g| g.map(|g| g.gid.as_raw())))
}

/// The group id for sockets. If the group doesn't exist, logs a warning and returns `None`.
pub fn group(account: Option<&Account>) -> Option<u32> {
    gid(account?)
        .map_err(|why| log::warn!(target: "config", "{why}: its sockets stay the daemon's own"))
        .ok()
}

/// The number of a user.
pub fn uid(account: &Account) -> Result<u32, String> {
    number(account, "user", |name| User::from_name(name).map(|u| u.map(|u| u.uid.as_raw())))
}

/// Longest wait for the first look-up of a user's name, which may need another host that is down.
const PATIENCE: Duration = Duration::from_millis(20);
/// Number of names kept.
const KEPT: usize = 1024;

/// Returns a user's name, or `user UID` if it has none, or none yet: names are looked up by a
/// thread of their own.
pub fn user_name(uid: u32) -> String {
    /// Names by uid; `None` while a thread looks one up.
    static KNOWN: Mutex<BTreeMap<u32, Option<String>>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let number = format!("user {uid}");
    let (say, answer) = mpsc::channel();
    {
        let mut known = known();
        if let Some(name) = known.get(&uid) {
            return name.clone().unwrap_or(number);
        }
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(uid, None);
    }
    let unnamed = number.clone();
    let look_up = move || {
        // A failure may be over the next time.
        match User::from_uid(Uid::from_raw(uid)) {
            Ok(user) => {
                let name = user.map_or(unnamed, |user| user.name);
                known().insert(uid, Some(name.clone()));
                // If this fails, the caller has stopped waiting.
                let _ = say.send(name);
            }
            Err(_) => drop(known().remove(&uid)),
        }
    };
    if std::thread::Builder::new().name("ferrovia_names".into()).spawn(look_up).is_err() {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).remove(&uid);
    }
    answer.recv_timeout(PATIENCE).unwrap_or(number)
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

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn names_and_numbers() {
        let name = |name: &str| Account::Name(name.into());
        assert_eq!(gid(&Account::Id(7)), Ok(7));
        assert_eq!((gid(&name("root")), uid(&name("root"))), (Ok(0), Ok(0)));
        assert_eq!(gid(&name("no-such-group")), Err("there is no group `no-such-group`".into()));
        assert_eq!(uid(&name("no-such-user")), Err("there is no user `no-such-user`".into()));
        assert_eq!(
            (user_name(0), user_name(4_123_456_789)),
            ("root".into(), "user 4123456789".into())
        );
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Groups and users by name, from `/etc/group` and `/etc/passwd`.

use crate::config::values::Account;

/// The number of a group.
pub fn gid(account: &Account) -> Result<u32, String> {
    number(account, "group", "/etc/group")
}

/// The number of a user.
pub fn uid(account: &Account) -> Result<u32, String> {
    number(account, "user", "/etc/passwd")
}

fn number(account: &Account, kind: &str, file: &str) -> Result<u32, String> {
    let name = match account {
        Account::Id(id) => return Ok(*id),
        Account::Name(name) => name,
    };
    let text = std::fs::read_to_string(file).map_err(|e| format!("{kind} `{name}`: {file}: {e}"))?;
    find(&text, name).ok_or_else(|| format!("there is no {kind} `{name}` in {file}"))
}

/// Both files hold `name:password:number:…` lines.
fn find(text: &str, name: &str) -> Option<u32> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() == Some(name) { fields.nth(1)?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(gid(&Account::Id(7)), Ok(7));
        assert_eq!(gid(&Account::Name("root".into())), Ok(0));
        assert!(gid(&Account::Name("no-such-group".into())).unwrap_err().contains("no-such-group"));
        assert_eq!(find("a:x:1:\nab:x:12:u,v\n", "ab"), Some(12));
    }
}

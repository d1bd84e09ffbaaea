// SPDX-License-Identifier: Apache-2.0
//! The speed of a link, by ethtool's messages of generic netlink (Linux 5.6; the kernel's
//! `Documentation/networking/ethtool-netlink.rst`). They belong to the socket's network namespace,
//! where files of /sys belong to the one that was current when /sys was mounted.

use std::io;

use crate::message::{Attributes, attributes, request, u16_at, u32_at};
use crate::requests::Requests;
use crate::{Link, Namespace};

/// `GENL_ID_CTRL` and its command, for the number of a family.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// `ETHTOOL_MSG_LINKMODES_GET` with its header, and of its answer the speed.
const LINKMODES_GET: u8 = 4;
const LINKMODES_HEADER: u16 = 1;
const HEADER_DEV_INDEX: u16 = 1;
const LINKMODES_SPEED: u16 = 5;

/// `SPEED_UNKNOWN`
const UNKNOWN: u32 = u32::MAX;

/// A socket for questions about links that rtnetlink doesn't answer.
#[derive(Debug)]
pub struct Ethtool {
    requests: Requests,
    family: u16,
}

/// `genlmsghdr`: command, version, two reserved bytes.
fn header(command: u8) -> [u8; 4] {
    [command, 1, 0, 0]
}

impl Ethtool {
    /// Opens a socket in the network namespace of the calling thread. Needs no privilege.
    ///
    /// # Errors
    /// The kernel's; `ENOENT` if it has no such messages.
    pub fn new() -> io::Result<Self> {
        let mut requests = Requests::new(Some(rustix::net::netlink::GENERIC))?;
        let mut family = None;
        let ask =
            request(CONTROL, libc::NLM_F_ACK, &header(GET_FAMILY)).name(FAMILY_NAME, "ethtool");
        requests.talk(ask, |message| {
            let body = message.body.get(4..).unwrap_or_default();
            family = attributes(body)
                .find_map(|(kind, value)| (kind == FAMILY_ID).then(|| u16_at(value, 0))?);
            Ok(())
        })?;
        let family = family.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
        Ok(Self { requests, family })
    }

    /// Opens a socket that speaks for `namespace`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn in_namespace(namespace: &Namespace) -> io::Result<Self> {
        namespace.run(Self::new)
    }

    /// The speed of a link in megabits a second; `None` if its driver doesn't know, as while there
    /// is no carrier. Of a tun or tap the kernel gives a constant (10 Mb/s, later 10 Gb/s),
    /// whatever it carries: that is no speed.
    pub fn speed(&mut self, link: &Link) -> Option<u32> {
        if link.kind.as_deref() == Some("tun") {
            return None;
        }
        let device = Attributes::default().number(HEADER_DEV_INDEX, link.index);
        // The kernel wants containers marked.
        let nested = LINKMODES_HEADER | libc::NLA_F_NESTED as u16;
        let ask = request(self.family, libc::NLM_F_ACK, &header(LINKMODES_GET))
            .attribute(nested, device.bytes());
        let mut speed = None;
        // A driver without speeds answers with an error.
        let answered = self.requests.talk(ask, |message| {
            speed = speed_in(message.body);
            Ok(())
        });
        answered.ok().and(speed)
    }
}

/// The speed in the body of an answer.
fn speed_in(body: &[u8]) -> Option<u32> {
    let mut all = attributes(body.get(4..)?);
    let speed =
        all.find_map(|(kind, value)| (kind == LINKMODES_SPEED).then(|| u32_at(value, 0))?)?;
    (speed != UNKNOWN && speed != 0).then_some(speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_read_from_its_attribute() {
        let answer = |speed: u32| {
            let all = Attributes::after(&header(4)).number(3, 77).number(LINKMODES_SPEED, speed);
            speed_in(all.attribute(6, &[1]).bytes())
        };
        assert_eq!(answer(2500), Some(2500));
        assert_eq!((answer(0), answer(UNKNOWN)), (None, None));
        assert_eq!((speed_in(&[0; 3]), speed_in(&header(4))), (None, None));
    }

    #[test]
    fn a_link_without_a_speed_has_none() {
        let Some(mut ethtool) = testkit::or_skip("ask for speeds of links", Ethtool::new()) else {
            return;
        };
        let lo = crate::Rtnl::new().unwrap().link("lo").unwrap();
        assert_eq!(ethtool.speed(&lo), None);
        assert_eq!(ethtool.speed(&Link { index: u32::MAX, ..lo }), None);
    }
}

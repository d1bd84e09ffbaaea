// SPDX-License-Identifier: Apache-2.0
//! Routing by the kernel of this machine, in the lab's middle namespace.

use super::Device;
use crate::lab::{End, Lab, route_by_kernel};
use netlink::Rtnl;

/// The kernel as a router.
#[derive(Debug)]
pub struct Linux {
    release: String,
}

impl Linux {
    /// Gives the namespace addresses and routes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn up(lab: &Lab) -> Result<Self, String> {
        route_by_kernel(&lab.device)?;
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        Ok(Self { release })
    }
}

impl Device for Linux {
    fn describe(&self) -> String {
        format!("Linux {}, routing in a network namespace over veth", self.release)
    }

    /// The kernel itself can't be restarted: its interfaces go down and up, and the configuration
    /// is made anew.
    fn restart(&mut self, lab: &Lab) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("restart of the interfaces: {error}");
        let mut rtnl = Rtnl::in_namespace(&lab.device).map_err(failed)?;
        let links = End::BOTH
            .into_iter()
            .map(|end| rtnl.link(end.name()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        for up in [false, true] {
            for link in &links {
                rtnl.set_admin_up(link.index, up).map_err(failed)?;
            }
        }
        // IPv6 addresses and all routes went with the links.
        for (end, link) in End::BOTH.into_iter().zip(&links) {
            let all = end.addresses();
            match rtnl.add_address(link.index, all.device.1.into(), crate::lab::LINK.1) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                _ => {}
            }
            let (four, six) = (all.network, all.tester);
            rtnl.set_route(link.index, four.0.into(), crate::lab::ROUTE.0, six.0.into())
                .and_then(|()| {
                    rtnl.set_route(link.index, four.1.into(), crate::lab::ROUTE.1, six.1.into())
                })
                .map_err(failed)?;
        }
        Ok(())
    }
}

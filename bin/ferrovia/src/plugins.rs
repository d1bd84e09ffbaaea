// SPDX-License-Identifier: Apache-2.0
//! The list: every plugin that is part of this build, in the order in which they start.

use graph::Plugin;

/// Every plugin of this build.
pub static ALL: &[&Plugin] = &[
    &crate::logging::PLUGIN,
    &system::PLUGIN,
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &path_mtu::PLUGIN,
    &ip::PLUGIN,
    &ip_container::PLUGIN,
    &super_path::PLUGIN,
    &mfib::PLUGIN,
    &icmp::PLUGIN,
    &track_mtu::PLUGIN,
    &tcp::PLUGIN,
    &ip_reassembly::PLUGIN,
    &urpf::PLUGIN,
    &port_range::PLUGIN,
    &mss_clamp::PLUGIN,
    &svs::PLUGIN,
    &l3xc::PLUGIN,
    &punt::PLUGIN,
    &stn::PLUGIN,
    &ping::PLUGIN,
    &teib::PLUGIN,
    &lldp::PLUGIN,
    &cdp::PLUGIN,
    &udp::PLUGIN,
    &ipip::PLUGIN,
    &gre::PLUGIN,
    &vxlan::PLUGIN,
    &geneve::PLUGIN,
    &gtpu::PLUGIN,
    &vxlan_gpe::PLUGIN,
    &l2tp::PLUGIN,
    &pppoe::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &ip6_nd::PLUGIN,
    &l2::PLUGIN,
    &span::PLUGIN,
    &l2patch::PLUGIN,
    &pipe::PLUGIN,
    &p2p_ethernet::PLUGIN,
    &dvr::PLUGIN,
    &xcrw::PLUGIN,
    &bond::PLUGIN,
    &soft_rss::PLUGIN,
    &lacp::PLUGIN,
    &af_packet::PLUGIN,
    &af_xdp::PLUGIN,
    &tap::PLUGIN,
    &memif::PLUGIN,
    &vhost_user::PLUGIN,
    &pcap_interface::PLUGIN,
    &trace::PLUGIN,
    &classify::PLUGIN,
    &classify::REDIRECT,
    &acl::PLUGIN,
    &abf::PLUGIN,
    &firewall::PLUGIN,
    &nat44_ed::PLUGIN,
    &det44::PLUGIN,
    &nat66::PLUGIN,
    &pnat::PLUGIN,
    &pg::PLUGIN,
    &unittest::PLUGIN,
    &crate::api::PLUGIN,
    &linux_cp::PLUGIN,
    &linux_nl::PLUGIN,
];

#[cfg(feature = "tests")]
mod tests {
    #[suite::test]
    fn features_and_phases_are_in_order() {
        assert_eq!(graph::check_order(super::ALL), Ok(()));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Names in FD.io VPP 26.06: commands, sections of startup.conf and modules of the binary API, each
//! with the plugin or feature that it belongs to.
//!
//! The command line, startup.conf, the list of plugins, `show api modules not-built` and the pages
//! for users all answer from here when something is asked for that isn't built.

mod foreign;
#[cfg(feature = "tests")]
mod pages;
#[cfg(feature = "tests")]
mod tests;
mod words;

pub use foreign::FOREIGN;
pub use words::meaning;

/// VPP's commands, one a line: its path, a tab, the plugin or feature that it belongs to (`-` where
/// it is none in particular).
const COMMANDS: &str = include_str!("commands.tsv");

/// Every command of VPP, and the plugin or feature that it belongs to.
pub fn commands() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    COMMANDS.lines().map(|line| {
        let (path, owner) = line.split_once('\t').expect("a tab in each line");
        (path, Some(owner).filter(|o| *o != "-"))
    })
}

/// File names of VPP's plugins (`acl_plugin.so`) that have commands or a section of their own.
pub fn plugins() -> impl Iterator<Item = &'static str> {
    let owners =
        commands().filter_map(|(_, owner)| owner).chain(SECTIONS.iter().map(|(_, owner)| *owner));
    owners.filter(|owner| owner.ends_with(PLUGIN))
}

/// Suffix of the file names of VPP's plugins.
pub const PLUGIN: &str = "_plugin.so";

/// A plugin's name without the suffix of plugin files, and with `_` for `-`.
pub fn stem(name: &str) -> String {
    name.strip_suffix(PLUGIN).unwrap_or(name).replace('-', "_")
}

/// Returns true if VPP has a plugin of this name. All other plugins of this build are VPP's core,
/// which the `default` rule for plugins doesn't switch off.
pub fn is_plugin(name: &str) -> bool {
    plugins().any(|file| stem(file) == stem(name))
}

/// Returns the plugin or feature that a section of VPP's startup.conf belongs to. Callers ask for
/// sections that this build lacks.
pub fn owner_of_section(name: &str) -> Option<&'static str> {
    SECTIONS.iter().find(|(section, _)| *section == name).map(|(_, owner)| *owner)
}

/// Returns the plugin or feature that a module of VPP's binary API belongs to; by default the
/// plugin of the same name.
pub fn owner_of_module(name: &str) -> Option<&'static str> {
    let own = || plugins().find(|plugin| stem(plugin) == name);
    MODULES.iter().find(|(module, _)| *module == name).map(|(_, owner)| *owner).or_else(own)
}

/// Modules of the binary API that aren't called after their plugin.
pub static MODULES: &[(&str, &str)] = &[
    ("bfd", "BFD"),
    ("bier", "BIER"),
    ("classify", "the classifier"),
    ("crypto", "crypto engines"),
    ("dev", "VPP's device framework"),
    ("dhcp6_ia_na_client_cp", "dhcp_plugin.so"),
    ("dhcp6_pd_client_cp", "dhcp_plugin.so"),
    ("flow", "hardware flows"),
    ("gateway", "sfdp_services_plugin.so"),
    ("graph", "tracedump_plugin.so"),
    ("gso", "GSO"),
    ("interface_input", "sfdp_services_plugin.so"),
    ("ioam_cache", "ioam_plugin.so"),
    ("ioam_export", "ioam_plugin.so"),
    ("ioam_vxlan_gpe", "ioam_plugin.so"),
    ("ipfix_export", "IPFIX"),
    ("ipip", "6RD"),
    ("ipsec", "IPsec"),
    ("l2", "layer-2 switching"),
    ("lcp", "linux_cp_plugin.so"),
    ("lisp_gpe", "lisp_plugin.so"),
    ("mpls", "MPLS"),
    ("nat44_ed", "nat_plugin.so"),
    ("one", "lisp_plugin.so"),
    ("p2p_ethernet", "point-to-point Ethernet"),
    ("pipe", "pipe interfaces"),
    ("pot", "ioam_plugin.so"),
    ("qos", "QoS marking"),
    ("session", "VPP's host stack"),
    ("sfdp", "session-based forwarding (SFDP)"),
    ("span", "SPAN"),
    ("sr", "SRv6"),
    ("sr_mobile", "SRv6"),
    ("sr_mpls", "srmpls_plugin.so"),
    ("sr_pt", "SRv6"),
    ("syslog", "syslog export"),
    ("tcp", "VPP's host stack"),
    ("tcp_check", "sfdp_services_plugin.so"),
    ("tls_openssl", "tlsopenssl_plugin.so"),
    ("tm", "traffic management"),
    ("trace", "ioam_plugin.so"),
    ("udp_ping", "ioam_plugin.so"),
    ("virtio", "PCI devices"),
    ("vxlan_gpe_ioam_export", "ioam_plugin.so"),
];

/// Sections of VPP's startup.conf that aren't the daemon's own, and what each belongs to.
pub static SECTIONS: &[(&str, &str)] = &[
    ("acl-plugin", "acl_plugin.so"),
    ("af_xdp", "af_xdp_plugin.so"),
    ("avf", "avf_plugin.so"),
    ("calico-policy-plugin", "npol_plugin.so"),
    ("cj", "VPP's circular journal"),
    ("cnat", "cnat_plugin.so"),
    ("crypto-engines", "crypto engines"),
    ("ct6", "ct6_plugin.so"),
    ("devices", "VPP's device framework"),
    ("dhcp", "dhcp_plugin.so"),
    ("dns", "dns_plugin.so"),
    ("dpdk", "dpdk_plugin.so"),
    ("dsa", "dsa_plugin.so"),
    ("elog", "VPP's event logger"),
    ("fateshare", "fateshare_plugin.so"),
    ("http", "http_plugin.so"),
    ("http_static", "http_static_plugin.so"),
    ("ikev2", "ikev2_plugin.so"),
    ("ipsec", "IPsec"),
    ("lb", "lb_plugin.so"),
    ("linux-cp", "linux_cp_plugin.so"),
    ("linux-nl", "linux_nl_plugin.so"),
    ("lisp", "lisp_plugin.so"),
    ("mactime", "mactime_plugin.so"),
    ("map", "map_plugin.so"),
    ("mc", "VPP's multicast of events"),
    ("memif", "memif_plugin.so"),
    ("mpls", "MPLS"),
    ("nat", "nat_plugin.so"),
    ("nat44", "nat44_ed_plugin.so"),
    ("nat64", "nat64_plugin.so"),
    ("nsim", "nsim_plugin.so"),
    ("oam", "VPP's old OAM"),
    ("perfmon", "perfmon_plugin.so"),
    ("prom", "prom_plugin.so"),
    ("pvti", "pvti_plugin.so"),
    ("quic", "quic_plugin.so"),
    ("session", "VPP's host stack"),
    ("sfdp", "session-based forwarding (SFDP)"),
    ("snort", "snort_plugin.so"),
    ("srv6", "SRv6"),
    ("tapcli", "VPP's old tap interface"),
    ("tcp", "VPP's host stack"),
    ("tls", "VPP's host stack"),
    ("tlsopenssl", "tlsopenssl_plugin.so"),
    ("trace", "VPP's trace filters"),
    ("tuntap", "VPP's old tun interface"),
    ("udp", "VPP's host stack"),
    ("wireguard", "wireguard_plugin.so"),
];

// SPDX-License-Identifier: Apache-2.0
use graph::World;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn hub() -> msg::Hub<World> {
    msg::Hub::new(crate::plugins::ALL.iter().flat_map(|p| p.api))
        .expect("names that nobody else has")
}

/// vpp_papi fills in what a caller leaves out from the description: without these it deletes a
/// bridge domain that was to be created.
#[suite::test]
fn descriptions_have_default_values() {
    let hub = hub();
    let l2 = hub.table().modules().iter().position(|module| module.name == "l2").unwrap();
    let json = msg::api_json(hub.table(), l2);
    let default = |message: &str, field: &str| {
        let mut messages = json["messages"].as_array().unwrap().iter();
        let message = messages.find(|m| m[0] == message).unwrap().as_array().unwrap();
        message.iter().find(|f| f[1] == field).unwrap()[2]["default"].clone()
    };
    assert_eq!(default("bridge_domain_add_del_v2", "is_add"), "true");
    assert_eq!(default("sw_interface_set_l2_bridge", "enable"), "true");
    assert_eq!(default("bridge_domain_dump", "bd_id"), u32::MAX);
    assert_eq!(default("bridge_domain_add_del_v2", "learn"), Value::Null);
}

#[suite::test]
fn every_module_has_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let said = super::files::dump(dir.path()).unwrap();
    let hub = hub();
    let shared = msg::api_json_shared(hub.table());
    assert_eq!(said.lines().count(), hub.table().modules().len() + shared.len());
    for (file, module) in said.lines().zip(hub.table().modules()) {
        let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(json["options"]["version"], module.version);
        let place = if module.core { "core" } else { "plugins" };
        assert!(file.ends_with(&format!("{place}/{}.api.json", module.name)), "{file}");
        let first = json["messages"][0].as_array().unwrap();
        assert_eq!(first[1], serde_json::json!(["u16", "_vl_msg_id"]));
    }
}

/// The names of all types that a description has.
fn types(json: &Value) -> BTreeSet<String> {
    let lists =
        ["types", "unions", "enums", "enumflags"].map(|list| json[list].as_array().unwrap());
    let listed = lists.into_iter().flatten().map(|item| item[0].as_str().unwrap().to_string());
    listed.chain(json["aliases"].as_object().unwrap().keys().cloned()).collect()
}

#[suite::test]
fn a_type_of_two_modules_is_imported() {
    let hub = hub();
    let shared = msg::api_json_shared(hub.table());
    let mut homes = BTreeMap::new();
    let modules = hub.table().modules().iter().enumerate();
    let modules = modules.map(|(index, module)| (module.name, msg::api_json(hub.table(), index)));
    for (name, json) in modules.chain(shared.iter().cloned()) {
        let mut own = types(&json);
        for import in json["imports"].as_array().unwrap() {
            let file =
                import.as_str().unwrap().trim_start_matches("vnet/").trim_end_matches(".api");
            let (_, imported) =
                shared.iter().find(|(name, _)| *name == file).expect("a file that is there");
            own = &own - &types(imported);
        }
        for kind in own {
            let other = homes.insert(kind.clone(), name);
            assert_eq!(other, None, "{kind} is described by {name} as well");
        }
    }
    assert_eq!(homes["interface_index"], "interface_types");
}

/// `docs/api.md` is generated: this test writes it anew where `UPDATE` is set, and fails where it
/// isn't current.
#[suite::test]
fn the_documentation_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    testkit::golden::compare(&path, &super::document::page(hub().table()));
}

/// Bytes that were never meant: all zeros, all ones, cut short, and random ones of a fixed seed.
#[suite::test]
fn every_codec_reads_what_it_writes_and_agrees_with_its_description() {
    let hub = hub();
    let mut seed = 1u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for (_, entry) in hub.table().entries() {
        let least: usize = entry.fields.iter().map(msg::Field::least).sum();
        // Nought is no value of every enum.
        let zeros = entry.read_and_write(&vec![0; least]);
        assert!(
            zeros == Err(msg::Malformed::Value) || zeros.is_ok_and(|w| w.len() == least),
            "{}",
            entry.name
        );
        if least > 0 {
            assert!(entry.read_and_write(&vec![0; least - 1]).is_err(), "{}", entry.name);
        }
        for _ in 0..200 {
            let n = random() as usize % (2 * least + 64);
            let sparse = random().is_multiple_of(2);
            let byte = |r: u64| {
                if sparse && !r.is_multiple_of(8) { (r >> 16) as u8 & 1 } else { (r >> 24) as u8 }
            };
            let bytes: Vec<u8> = (0..n).map(|_| byte(random())).collect();
            msg::check::codec(entry, &bytes);
        }
    }
}

/// A trace in VPP's form holds a message's fields by name: writing and reading it loses nothing.
#[suite::test]
fn messages_as_json_become_the_same_bytes() {
    let hub = hub();
    let entry = |name: &str| {
        let found = hub.table().entries().find(|(_, e)| e.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).1
    };
    let json = |name: &str, bytes: &[u8]| {
        let mut r = msg::Reader::new(bytes);
        msg::show_fields(&entry(name).fields, &mut r).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let mut tried = 0;
    let mut random = testkit::Rng::new(7);
    for (_, entry) in hub.table().entries() {
        let least = entry.fields.iter().map(msg::Field::least).sum();
        for turn in 0..20 {
            // Zeros, and any bytes that are a message.
            let bytes: Vec<u8> =
                (0..least).map(|_| if turn == 0 { 0 } else { random.next() as u8 }).collect();
            if let Ok(written) = entry.read_and_write(&bytes) {
                let again = msg::encode_fields(&entry.fields, &json(entry.name, &written));
                assert_eq!(again, Ok(written), "{}", entry.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried}");

    // As VPP writes it: addresses and prefixes as text, without the fields that a client's library
    // fills in.
    let object = |value: Value| value.as_object().cloned().expect("an object");
    let loopback = object(serde_json::json!({ "mac_address": "02:00:5e:10:20:30" }));
    let bytes = msg::encode_fields(&entry("create_loopback").fields, &loopback).expect("good");
    assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0x5e, 0x10, 0x20, 0x30]);
    let mut address = object(serde_json::json!({
        "sw_if_index": 7, "is_add": true, "del_all": false, "prefix": "2001:db8::1/64"
    }));
    let fields = &entry("sw_interface_add_del_address").fields;
    let bytes = msg::encode_fields(fields, &address).expect("good");
    let want =
        [&[0; 8][..], &[0, 0, 0, 7, 1, 0, 1, 0x20, 1, 0xd, 0xb8], &[0; 11], &[1, 64]].concat();
    assert_eq!(bytes, want);
    let shown = json("sw_interface_add_del_address", &bytes);
    assert_eq!(shown["prefix"], "2001:db8::1/64");
    let names =
        object(serde_json::json!({ "sw_if_index": 1, "flags": "IF_STATUS_API_FLAG_ADMIN_UP" }));
    let bytes = msg::encode_fields(&entry("sw_interface_set_flags").fields, &names).expect("good");
    assert_eq!(bytes[8..], [0, 0, 0, 1, 0, 0, 0, 1]);

    for (field, wrong, why) in [
        ("prefix", "10.0.0.1".into(), "is no prefix"),
        ("prefix", "10.0.0.256/8".into(), "is no prefix"),
        ("sw_if_index", (-1).into(), "-1 is no u32"),
        ("is_add", 2.into(), "2 is no bool"),
        ("is_add", Value::Null, "expected a number"),
    ] {
        let right = address.insert(field.into(), wrong).expect("there");
        let error = msg::encode_fields(fields, &address).expect_err(why);
        assert!(error.starts_with(field) && error.contains(why), "{error}");
        address.insert(field.into(), right);
    }
    address.remove("prefix");
    assert_eq!(msg::encode_fields(fields, &address), Err("prefix is missing".into()));
}

/// A new message without a stream of answers is logged as a change unless it is named here.
#[suite::test]
fn requests_that_change_nothing_are_known() {
    let hub = hub();
    let streams: BTreeSet<&str> = hub
        .table()
        .modules()
        .iter()
        .flat_map(|m| &m.services)
        .filter(|s| s.stream)
        .map(|s| s.request)
        .collect();
    let calls = hub
        .table()
        .entries()
        .map(|(_, e)| e)
        .filter(|e| e.kind == msg::Kind::Request && e.module != 0);
    let looks: BTreeSet<&str> =
        calls.filter(|e| !e.changes && !streams.contains(e.name)).map(|e| e.name).collect();
    let known = BTreeSet::from([
        "abf_plugin_get_version",
        "acl_plugin_control_ping",
        "acl_plugin_get_conn_table_max_entries",
        "acl_plugin_get_version",
        "acl_plugin_use_hash_lookup_get",
        "arping",
        "arping_acd",
        "bfd_udp_get_echo_source",
        "bfd_udp_get_tos",
        "classify_pcap_get_tables",
        "classify_pcap_lookup_table",
        "classify_trace_get_tables",
        "classify_trace_lookup_table",
        "cli",
        "cli_inband",
        "det44_forward",
        "det44_get_timeouts",
        "det44_reverse",
        "dhcp_plugin_control_ping",
        "dhcp_plugin_get_version",
        "dns_resolve_ip",
        "dns_resolve_name",
        "dslite_get_aftr_addr",
        "dslite_get_b4_addr",
        "feature_is_enabled",
        "get_f64_endian_value",
        "get_f64_increment_by_one",
        "get_next_index",
        "get_node_graph",
        "get_node_index",
        "gtpu_get_transfer_counts",
        "ip_local_reass_get",
        "ip_neighbor_config_get",
        "ip_reassembly_get",
        "ip_route_lookup",
        "ip_route_lookup_v2",
        "l2_flags_get",
        "l2_interface_feat_flags_get",
        "l3xc_plugin_get_version",
        "lcp_default_ns_get",
        "lcp_ethertype_get",
        "lcp_osi_proto_get",
        "lcp_sync_unnumbered_get",
        "macip_acl_interface_get",
        "nat44_ed_show_fq_options",
        "nat44_ei_get_addr_and_port_alloc_alg",
        "nat44_ei_get_mss_clamping",
        "nat44_ei_ha_get_failover",
        "nat44_ei_ha_get_listener",
        "nat44_ei_show_fq_options",
        "nat44_ei_show_running_config",
        "nat44_show_running_config",
        "nat64_get_timeouts",
        "nat_det_forward",
        "nat_det_reverse",
        "nat_get_mss_clamping",
        "pnat_flow_lookup",
        "punt_acl_get",
        "show_threads",
        "show_version",
        "show_vpe_system_time",
        "svs_plugin_get_version",
        "sw_interface_get_default_rx_mode",
        "sw_interface_get_mac_address",
        "sw_interface_get_table",
        "sw_interface_ip6_get_link_local_address",
        "syslog_get_filter",
        "syslog_get_sender",
        "want_bfd_events",
        "want_dhcp6_pd_reply_events",
        "want_dhcp6_reply_events",
        "want_igmp_events",
        "want_interface_events",
        "want_ip6_dad_events",
        "want_ip6_ra_events",
        "want_ip_neighbor_events",
        "want_ip_neighbor_events_v2",
        "want_l2_arp_term_events",
        "want_l2_macs_events",
        "want_l2_macs_events2",
        "want_ping_finished_events",
        "want_vrrp_vr_events",
    ]);
    assert_eq!(looks, known);
}

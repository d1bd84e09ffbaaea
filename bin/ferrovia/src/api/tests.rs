// SPDX-License-Identifier: Apache-2.0
use graph::World;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn hub() -> msg::Hub<World> {
    msg::Hub::new(crate::plugins::ALL.iter().flat_map(|p| p.api)).expect("names that nobody else has")
}

#[test]
fn every_message_is_as_published() {
    assert_eq!(msg::published::read().differences(hub().table()), Vec::<String>::new());
}

#[test]
fn every_module_has_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let said = super::dump(dir.path()).unwrap();
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
    let lists = ["types", "unions", "enums", "enumflags"].map(|list| json[list].as_array().unwrap());
    let listed = lists.into_iter().flatten().map(|item| item[0].as_str().unwrap().to_string());
    listed.chain(json["aliases"].as_object().unwrap().keys().cloned()).collect()
}

#[test]
fn a_type_of_two_modules_is_imported() {
    let hub = hub();
    let shared = msg::api_json_shared(hub.table());
    let mut homes = BTreeMap::new();
    let modules = hub.table().modules().iter().enumerate();
    let modules = modules.map(|(index, module)| (module.name, msg::api_json(hub.table(), index)));
    for (name, json) in modules.chain(shared.iter().cloned()) {
        let mut own = types(&json);
        for import in json["imports"].as_array().unwrap() {
            let file = import.as_str().unwrap().trim_start_matches("vnet/").trim_end_matches(".api");
            let (_, imported) = shared.iter().find(|(name, _)| *name == file).expect("a file that is there");
            own = &own - &types(imported);
        }
        for kind in own {
            let other = homes.insert(kind.clone(), name);
            assert_eq!(other, None, "{kind} is described by {name} as well");
        }
    }
    assert_eq!(homes["interface_index"], "interface_types");
}

/// `docs/api.md` is generated: this test writes it anew where `UPDATE` is set, and fails where it isn't current.
#[test]
fn the_documentation_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    testkit::golden::compare(&path, &super::document::page(hub().table()));
}

/// Bytes that were never meant: all zeros, all ones, cut short, and random ones of a fixed seed.
#[test]
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
            let byte =
                |r: u64| if sparse && !r.is_multiple_of(8) { (r >> 16) as u8 & 1 } else { (r >> 24) as u8 };
            let bytes: Vec<u8> = (0..n).map(|_| byte(random())).collect();
            msg::check::codec(entry, &bytes);
        }
    }
}

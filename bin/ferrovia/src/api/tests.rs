// SPDX-License-Identifier: Apache-2.0
use graph::World;
use serde_json::Value;

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
    assert_eq!(said.lines().count(), hub.table().modules().len());
    for (file, module) in said.lines().zip(hub.table().modules()) {
        let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(json["options"]["version"], module.version);
        let place = if module.core { "core" } else { "plugins" };
        assert!(file.ends_with(&format!("{place}/{}.api.json", module.name)), "{file}");
        let first = json["messages"][0].as_array().unwrap();
        assert_eq!(first[1], serde_json::json!(["u16", "_vl_msg_id"]));
    }
}

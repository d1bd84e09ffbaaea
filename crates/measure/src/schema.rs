// SPDX-License-Identifier: Apache-2.0
//! JSON schema of the result document.

/// Schema of `result.json` (JSON Schema, draft 2020-12), for programs that read it.
pub const SCHEMA: &str = include_str!("../schema/result.schema.json");

/// A validator of the keywords that the schema uses; another keyword makes it panic, so that no
/// rule is skipped.
#[cfg(feature = "tests")]
mod tests {
    use serde_json::{Value, json};

    use super::SCHEMA;
    use crate::{Fault, Latency, Mark, Results};

    /// Reasons why the value doesn't meet the schema.
    fn faults(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let Value::Object(rules) = schema else {
            return if *schema == Value::Bool(false) {
                vec![format!("{at}: not allowed")]
            } else {
                vec![]
            };
        };
        let mut found = Vec::new();
        let mut fault = |text: String| found.push(format!("{at}: {text}"));
        let mut below: Vec<(Value, Value, String)> = Vec::new();
        for (keyword, rule) in rules {
            match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" => {}
                "$ref" => {
                    let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                    below.push((root.pointer(pointer).unwrap().clone(), value.clone(), at.into()));
                }
                "type" => {
                    let names = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                    let fits = |name: &Value| match name.as_str().unwrap() {
                        "object" => value.is_object(),
                        "array" => value.is_array(),
                        "string" => value.is_string(),
                        "boolean" => value.is_boolean(),
                        "null" => value.is_null(),
                        "number" => value.is_number(),
                        "integer" => value.is_u64() || value.is_i64(),
                        other => panic!("type {other}"),
                    };
                    if !names.iter().any(fits) {
                        fault(format!("{value} is not of type {rule}"));
                    }
                }
                "const" if value != rule => fault(format!("{value} is not {rule}")),
                "enum" if !rule.as_array().unwrap().contains(value) => {
                    fault(format!("{value} is none of {rule}"));
                }
                "minimum" if value.as_f64().is_some_and(|v| v < rule.as_f64().unwrap()) => {
                    fault(format!("{value} is below {rule}"));
                }
                "maximum" if value.as_f64().is_some_and(|v| v > rule.as_f64().unwrap()) => {
                    fault(format!("{value} is above {rule}"));
                }
                "const" | "enum" | "minimum" | "maximum" => {}
                "required" => {
                    for name in rule.as_array().unwrap() {
                        if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                            fault(format!("lacks {name}"));
                        }
                    }
                }
                "properties" => {
                    for (name, rule) in rule.as_object().unwrap() {
                        if let Some(value) = value.get(name) {
                            below.push((rule.clone(), value.clone(), format!("{at}/{name}")));
                        }
                    }
                }
                "additionalProperties" => {
                    let known = rules.get("properties").and_then(Value::as_object);
                    for (name, value) in value.as_object().into_iter().flatten() {
                        if known.is_none_or(|k| !k.contains_key(name)) {
                            below.push((rule.clone(), value.clone(), format!("{at}/{name}")));
                        }
                    }
                }
                "prefixItems" => {
                    for (i, rule) in rule.as_array().unwrap().iter().enumerate() {
                        if let Some(value) = value.get(i) {
                            below.push((rule.clone(), value.clone(), format!("{at}/{i}")));
                        }
                    }
                }
                "items" => {
                    let first = rules.get("prefixItems").map_or(0, |p| p.as_array().unwrap().len());
                    let items = value.as_array().into_iter().flatten().enumerate().skip(first);
                    below
                        .extend(items.map(|(i, v)| (rule.clone(), v.clone(), format!("{at}/{i}"))));
                }
                "minItems" => {
                    let n = value.as_array().map_or(0, Vec::len) as u64;
                    if n < rule.as_u64().unwrap() {
                        fault(format!("{n} items"));
                    }
                }
                "oneOf" => {
                    let all = rule.as_array().unwrap();
                    let met = all.iter().filter(|s| faults(root, s, value, at).is_empty()).count();
                    if met != 1 {
                        fault(format!("{value} meets {met} of {} forms", all.len()));
                    }
                }
                other => panic!("the test's validator doesn't know the keyword {other}"),
            }
        }
        found.extend(below.iter().flat_map(|(s, v, at)| faults(root, s, v, at)));
        found
    }

    fn check(document: &Value) -> Vec<String> {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        faults(&schema, &schema, document, "")
    }

    #[suite::test]
    fn documents_meet_the_schema() {
        let mut results = crate::report::tests::example();
        let m = &mut results.measurements[1];
        for mark in [
            Mark::EnergyProxy,
            Mark::Incomplete { reason: "one core".into() },
            Mark::Other { text: "warm".into() },
        ] {
            m.mark(mark);
        }
        m.latency.push(crate::LatencyAt {
            load: "no load".into(),
            rate: 1.0,
            direction: Some(crate::Direction::Reverse),
            latency: Latency::new(),
        });
        m.series_mut("broken", "pps").values.push(f64::NAN);
        m.trials[0].faults = vec![
            Fault::SendingTime { direction: crate::Direction::Forward, seconds: 2.0, limit: 1.0 },
            Fault::Shortfall { direction: crate::Direction::Forward, expected: 2, sent: 1 },
            Fault::Excess { direction: crate::Direction::Forward, expected: 1, sent: 2 },
            Fault::Steal { share: 0.5, limit: 0.01 },
            Fault::MissingDirection { direction: crate::Direction::Reverse },
            Fault::Inconsistent { direction: crate::Direction::Reverse },
            Fault::Interrupted,
            Fault::Other { reason: "the link went down".into() },
        ];
        for results in [Results::default(), results] {
            let document = serde_json::from_str(&results.to_json()).unwrap();
            assert_eq!(check(&document), Vec::<String>::new());
            assert!(Results::from_json(&results.to_json()).is_ok());
        }
    }

    #[suite::test]
    fn other_documents_do_not() {
        let good: Value = serde_json::from_str(&crate::report::tests::example().to_json()).unwrap();
        let change = |pointer: &str, value: Value| {
            let mut document = good.clone();
            *document.pointer_mut(pointer).unwrap() = value;
            check(&document)
        };
        assert_eq!(change("/schema_version", json!(1)), ["/schema_version: 1 is not 2"]);
        assert_eq!(change("/measurements/0/mode", json!("speed")).len(), 1);
        assert_eq!(change("/measurements/0/size", json!(10)).len(), 1);
        assert_eq!(change("/measurements/0/trials/0/steal", json!(2.0)).len(), 1);
        assert_eq!(change("/measurements/0/trials/0/directions/0/sent", json!(-1)).len(), 1);
        assert_eq!(change("/environment/versions/0", json!(["rustc"])).len(), 1);
        assert_eq!(change("/measurements/0/marks/0", json!({"mark": "fast"})).len(), 1);
        assert!(!change("/rules", json!({})).is_empty());
        let mut document = good.clone();
        document["extra"] = json!(1);
        assert_eq!(check(&document), ["/extra: not allowed"]);
    }
}

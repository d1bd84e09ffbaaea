// SPDX-License-Identifier: Apache-2.0
//! Words of the process's own sections that take more than a value.

use std::collections::BTreeMap;

use startup::value::{Enable, Level, Value, spaced};
use startup::{Cursor, Error, Slot};

/// `plugin NAME { enable | disable }`, by name as written; the name `default` stands for all
/// others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginRules(
    /// The rules; true for `enable`.
    pub BTreeMap<String, bool>,
);

impl Slot for PluginRules {
    fn syntax(&self) -> String {
        "<name>|default { enable|disable }".into()
    }
    fn read(&mut self, cursor: &mut Cursor) -> Result<(), Error> {
        let name = String::parse(cursor.word("the plugin's name")?).unwrap_or_default();
        cursor.block("`{ enable }` or `{ disable }`", |c| {
            match c.keyword(&["enable", "disable", "skip-version-check"], "a plugin's block")? {
                "skip-version-check" => {
                    c.notes.push(format!(
                        "plugins: skip-version-check of {name}: the ABI is always checked"
                    ));
                }
                word => {
                    self.0.insert(name.clone(), word == "enable");
                }
            }
            Ok(())
        })
    }
    fn show(&self) -> Vec<String> {
        let rule =
            |(name, on): (&String, &bool)| format!("{} {{ {} }}", name.show(), Enable(*on).show());
        self.0.iter().map(rule).collect()
    }
}

/// `default { enable | disable }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginDefault(
    /// True for `enable`.
    pub Option<bool>,
);

impl Slot for PluginDefault {
    fn syntax(&self) -> String {
        "{ enable|disable }".into()
    }
    fn read(&mut self, cursor: &mut Cursor) -> Result<(), Error> {
        cursor.block("`{ enable }` or `{ disable }`", |c| {
            self.0 = Some(c.value::<Enable>()?.0);
            Ok(())
        })
    }
    fn show(&self) -> Vec<String> {
        self.0.iter().map(|on| format!("{{ {} }}", Enable(*on).show())).collect()
    }
}

/// The settings of one log class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogClass {
    /// Level of the log.
    pub level: Option<Level>,
    /// Level of syslog, for messages that the log's level lets through.
    pub syslog_level: Option<Level>,
    /// Messages a second before the class is throttled.
    pub rate_limit: Option<u32>,
}

/// `class NAME { level L  syslog-level L  rate-limit N }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogClasses(
    /// Settings by class name.
    pub BTreeMap<String, LogClass>,
);

impl Slot for LogClasses {
    fn syntax(&self) -> String {
        "<name> { level <level> syslog-level <level> rate-limit <n> }".into()
    }
    fn read(&mut self, cursor: &mut Cursor) -> Result<(), Error> {
        let name = cursor.word("the name of a log class")?;
        let class = self.0.entry(name.to_string()).or_default();
        cursor.block("`{ level … }`", |c| {
            match c.keyword(&["level", "syslog-level", "rate-limit"], "a log class")? {
                "level" => class.level = Some(c.value()?),
                "syslog-level" => class.syslog_level = Some(c.value()?),
                _ => class.rate_limit = Some(c.value()?),
            }
            Ok(())
        })
    }
    fn show(&self) -> Vec<String> {
        let class = |(name, class): (&String, &LogClass)| {
            let mut words = vec![name.show(), "{".into()];
            words.extend(class.level.map(|l| format!("level {}", l.show())));
            words.extend(class.syslog_level.map(|l| format!("syslog-level {}", l.show())));
            words.extend(class.rate_limit.map(|n| format!("rate-limit {n}")));
            words.push("}".into());
            spaced(&words)
        };
        self.0.iter().map(class).collect()
    }
}

/// `numa N { buffers N }`: buffers by NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaBuffers(
    /// Number of buffers by NUMA node.
    pub BTreeMap<u16, u32>,
);

impl Slot for NumaBuffers {
    fn syntax(&self) -> String {
        "<node> { buffers <n> }".into()
    }
    fn read(&mut self, cursor: &mut Cursor) -> Result<(), Error> {
        let node = cursor.value()?;
        cursor.block("`{ buffers <n> }`", |c| {
            c.keyword(&["buffers"], "a numa block")?;
            self.0.insert(node, c.value()?);
            Ok(())
        })
    }
    fn show(&self) -> Vec<String> {
        self.0.iter().map(|(node, n)| format!("{node} {{ buffers {n} }}")).collect()
    }
}

/// The ISA variant that a node is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The variant's name.
    pub name: String,
    /// The variant's priority, as VPP has it.
    pub priority: Option<u32>,
}

/// The `node` section: `default { variant X [N] } NODE { variant X [N] }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeVariants {
    /// Variant of nodes that aren't named.
    pub default: Option<Variant>,
    /// Variants by node name.
    pub nodes: BTreeMap<String, Variant>,
}

impl Slot for NodeVariants {
    fn syntax(&self) -> String {
        "{ default|<node> { variant <name> [<priority>] } … }".into()
    }
    fn read(&mut self, cursor: &mut Cursor) -> Result<(), Error> {
        cursor.block("`{ default { variant … } }`", |c| {
            let node = c.word("a node's name or `default`")?;
            c.block("`{ variant … }`", |c| {
                c.keyword(&["variant"], "a node's block")?;
                let name = c.word("the variant's name")?.to_string();
                let digit =
                    c.peek_word(0).is_some_and(|w| w.starts_with(|d: char| d.is_ascii_digit()));
                let priority = if digit { Some(c.value()?) } else { None };
                let variant = Variant { name, priority };
                match node {
                    "default" => self.default = Some(variant),
                    _ => drop(self.nodes.insert(node.into(), variant)),
                }
                Ok(())
            })
        })
    }
    fn show(&self) -> Vec<String> {
        let block = |node: String, v: &Variant| {
            let priority = v.priority.map(|p| format!(" {p}")).unwrap_or_default();
            format!("{node} {{ variant {}{priority} }}", v.name.show())
        };
        let mut blocks: Vec<String> =
            self.default.iter().map(|v| block("default".into(), v)).collect();
        blocks.extend(self.nodes.iter().map(|(node, v)| block(node.show(), v)));
        if blocks.is_empty() { Vec::new() } else { vec![format!("{{ {} }}", spaced(&blocks))] }
    }
}

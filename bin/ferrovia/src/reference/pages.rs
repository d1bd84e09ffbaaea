// SPDX-License-Identifier: Apache-2.0
//! Generated pages for users: `docs/features/AREA.md` and `docs/commands.md`, from what plugins
//! declare.

use super::words::{meaning, words};
use crate::{commands as own, plugins, store};
use cli::Command;
use graph::{Plugin, Target, World};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// A page of `docs/features`.
struct Area {
    /// Its name in declarations, and its file's.
    name: &'static str,
    title: &'static str,
    /// Sentences about its subject, and links to pages that say more.
    intro: &'static str,
}

/// The areas, in the order of the page of commands. One without plugins has no page.
static AREAS: &[Area] = &[
    Area {
        name: "ip",
        title: "IPv4 and IPv6",
        intro: "Routing of unicast packets: tables and routes, forwarding, packets for the router \
                itself. [First router](../first-router.md) shows addresses and routes at work.",
    },
    Area {
        name: "neighbours",
        title: "Neighbours: ARP and IPv6 neighbour discovery",
        intro: "How the router finds the stations on its links, and notices that they are gone.",
    },
    Area {
        name: "multicast",
        title: "Multicast forwarding",
        intro: "Packets to groups, of IPv4 and IPv6.",
    },
    Area {
        name: "redundancy",
        title: "Redundancy: VRRP",
        intro: "Several routers of a link share addresses, so that hosts keep their gateway when \
                one of them fails.",
    },
    Area {
        name: "ethernet-and-l2",
        title: "Ethernet and layer-2 switching",
        intro: "Bridge domains, cross-connects and other ways to forward frames. VLAN sub-interfaces \
                are on the page of [interfaces](interfaces-and-drivers.md).",
    },
    Area {
        name: "link-protocols",
        title: "Bonds, LACP, LLDP, CDP",
        intro: "Several links as one interface, and protocols between the two ends of a link.",
    },
    Area {
        name: "interfaces-and-drivers",
        title: "Interfaces and drivers",
        intro: "What every interface has, and the devices that packets come from and go to.",
    },
    Area {
        name: "tunnels",
        title: "Tunnels",
        intro: "Packets and frames inside other packets. All kinds follow the route to the remote \
                endpoint as it changes.",
    },
    Area {
        name: "policy",
        title: "Filters and policy",
        intro: "Which packets may pass, and which take paths other than those of their destination.",
    },
    Area {
        name: "nat",
        title: "Address translation",
        intro: "Packets whose addresses and ports are changed.",
    },
    Area {
        name: "control-plane",
        title: "Control plane",
        intro: "BFD watches next hops. Mirrors: routing daemons and other programs of the host use \
                interfaces of the kernel as if they were the router's own ([how \
                to](../linux-control-plane.md)).",
    },
    Area {
        name: "punt",
        title: "Packets for other programs",
        intro: "Packets that the router hands to programs of the host, or to another host.",
    },
    Area {
        name: "speed",
        title: "Super-path and receive-side scaling",
        intro: "Forwarding with fewer nodes, and on several threads. \
                [What a packet costs](../performance.md) has figures.",
    },
    Area {
        name: "tools",
        title: "Tools: traces, captures, generator, mirrors, ping",
        intro: "How to see what the router does with a packet, and how to make packets. \
                [ferrotest](../ferrotest.md), the tester, is a program of its own.",
    },
    Area {
        name: "management",
        title: "Management",
        intro: "The command line, the configuration ([configuration](../configuration.md)), the \
                binary API ([api](../api.md)), JSON answers ([json](../json.md)), counters and \
                Prometheus ([monitoring](../monitoring.md)).",
    },
];

/// The commands that belong to the daemon itself and to no plugin, for the page `management`.
fn of_the_daemon() -> impl Iterator<Item = &'static Command<World>> {
    own::own::<World>().iter().chain(store::commands::all::<World>())
}

const GENERATED: &str = "Generated from the declarations of the plugins \
    (`UPDATE=1 make test ARGS='-p ferrovia'` writes it anew).";

/// A text inside a row of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Help as a sentence: VPP's quotes become code.
fn sentence(help: &str) -> String {
    let mut text = String::new();
    let mut rest = help.trim();
    while let Some((before, after)) = rest.split_once('`') {
        let end = after.find(['\'', '`']).unwrap_or(after.len());
        let _ = write!(text, "{before}`{}`", &after[..end]);
        rest = after.get(end + 1..).unwrap_or("");
    }
    text.push_str(rest);
    text
}

/// Adds a list, one item a line.
fn bullets(page: &mut String, items: &[&str]) {
    items.iter().for_each(|item| writeln!(page, "- {item}.").expect("a String takes all"));
}

/// Counted edges of the plugin's nodes: node, counter, text; the same text of IPv4 and IPv6 once.
fn reasons(plugin: &Plugin) -> Vec<(BTreeSet<&'static str>, &'static str, bool)> {
    let mut rows: Vec<(BTreeSet<&str>, &str, bool)> = Vec::new();
    for node in plugin.nodes {
        for edge in node.edges().into_iter().filter(|e| e.counted) {
            let lost = matches!(edge.target, Target::Drop | Target::Reason(_));
            let name = edge.of.unwrap_or(node.name());
            match rows.iter_mut().find(|(_, text, is)| (*text, *is) == (edge.text, lost)) {
                Some((nodes, ..)) => {
                    nodes.insert(name);
                }
                None => rows.push((BTreeSet::from([name]), edge.text, lost)),
            }
        }
    }
    rows
}

/// Versions of the modules of the binary API, by name.
type Versions = BTreeMap<&'static str, &'static str>;

fn versions() -> Versions {
    let hub = msg::Hub::<World>::new(plugins::ALL.iter().flat_map(|p| p.api)).expect("good names");
    hub.table().modules().iter().map(|m| (m.name, m.version)).collect()
}

/// A link to the messages of a module in `docs/api.md`.
fn linked(module: &str, versions: &Versions) -> String {
    let version = versions.get(module).map_or(String::new(), |v| v.replace('.', ""));
    format!("[`{module}`](../api.md#{module}-{version})")
}

/// The part of a page about one plugin.
fn describe(page: &mut String, plugin: &Plugin, versions: &Versions) {
    let _ = writeln!(page, "\n## {}\n\n{}.\n", plugin.name, plugin.about);
    bullets(page, plugin.does);
    if !plugin.spec.is_empty() {
        let _ = writeln!(page, "\nSpecification: {}.", plugin.spec.join(", "));
    }
    if !plugin.limits.is_empty() {
        let _ = writeln!(page, "\nLimits:\n");
        bullets(page, plugin.limits);
    }
    commands_of(page, plugin.cli.iter());
    let modules: BTreeSet<_> = plugin.api.iter().map(|m| linked(m.name, versions)).collect();
    if !modules.is_empty() {
        let names = modules.into_iter().collect::<Vec<_>>().join(", ");
        let _ = writeln!(page, "\nMessages of the binary API: {names}.");
    }
    let reasons = reasons(plugin);
    if !reasons.is_empty() {
        page.push_str(
            "\n| counted by `show errors` | by node | packet is dropped |\n|---|---|---|\n",
        );
        for (nodes, text, lost) in reasons {
            let nodes: Vec<_> = nodes.iter().map(|n| format!("`{n}`")).collect();
            let yes = if lost { "yes" } else { "" };
            let _ = writeln!(page, "| {} | {} | {yes} |", cell(text), nodes.join(", "));
        }
    }
}

/// A table of commands, with links to their grammar.
fn commands_of(page: &mut String, commands: impl Iterator<Item = &'static Command<World>>) {
    let rows: BTreeMap<_, _> = commands.map(|c| (c.path, sentence(c.help))).collect();
    if rows.is_empty() {
        return;
    }
    page.push_str("\n| command | does |\n|---|---|\n");
    for (path, help) in rows {
        let anchor = path.replace(' ', "-");
        let _ = writeln!(page, "| [`{path}`](../commands.md#{anchor}) | {} |", cell(&help));
    }
}

/// The page of an area; none if no plugin belongs to it.
fn feature_page(area: &Area, versions: &Versions) -> Option<String> {
    let mut of: Vec<_> = plugins::ALL.iter().filter(|p| p.area == area.name).collect();
    of.sort_by_key(|plugin| plugin.name);
    let has_daemon = area.name == "management";
    let names = of.iter().map(|p| p.name).chain(has_daemon.then_some("daemon"));
    let names: Vec<_> = names.map(|name| format!("[{name}](#{name})")).collect();
    let mut page = format!(
        "# {}\n\n{}\n\n{GENERATED}\n\nOn this page: {}.\n",
        area.title,
        area.intro,
        names.join(", ")
    );
    of.iter().for_each(|plugin| describe(&mut page, plugin, versions));
    if has_daemon {
        page.push_str("\n## daemon\n\nThe program itself: configuration, log, scripts.\n");
        commands_of(&mut page, of_the_daemon());
    }
    (!of.is_empty()).then_some(page)
}

/// The words of a grammar that aren't placeholders, and those that are values of one.
fn literals(usage: &'static str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut add = |text: &'static str| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
        found.extend(words.filter(|w| !w.is_empty()));
    };
    let mut rest = usage;
    while let Some((before, after)) = rest.split_once('<') {
        add(before);
        let Some((placeholder, behind)) = after.split_once('>') else { break };
        if let Some((_, values)) = placeholder.split_once(':').filter(|(_, v)| v.contains('|')) {
            add(values);
        }
        rest = behind;
    }
    add(rest);
    found
}

/// The sentences for words of a command, in the order of its grammar.
fn explained(command: &Command<World>) -> Vec<(&'static str, &'static str)> {
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for word in literals(command.usage) {
        if let Some(text) = meaning(command.path, word)
            && !rows.iter().any(|(known, _)| *known == word)
        {
            rows.push((word, text));
        }
    }
    rows
}

/// The reference of commands.
fn command_page() -> String {
    let mut page = format!(
        "# Commands\n\n{GENERATED}\n\n\
         A command may be shortened to unique beginnings of its words. In a grammar, `[x]` may be \
         left out, `{{a | b}}` is one of several,\n`(x [y])` takes its parts in any order, `x...` \
         once or more, and `<name:type>` is a value. At the prompt, `?` shows the same.\n\
         `-j` behind a `show` gives its answer as [JSON](json.md).\n"
    );
    for area in AREAS {
        let daemon = (area.name == "management").then(of_the_daemon).into_iter().flatten();
        let of = plugins::ALL.iter().filter(|p| p.area == area.name).flat_map(|p| p.cli);
        let commands: BTreeMap<_, _> = of.chain(daemon).map(|c| (c.path, c)).collect();
        if commands.is_empty() {
            continue;
        }
        let link = format!("features/{}.md", area.name);
        let _ = writeln!(page, "\n## [{}]({link})", area.title);
        for (path, command) in commands {
            let words: Vec<_> = command.usage.split_whitespace().collect();
            let line = format!("{path} {}", words.join(" "));
            let _ = writeln!(page, "\n### {path}\n\n{}.\n", sentence(command.help));
            let _ = writeln!(page, "```text\n{}\n```", folded(line.trim()));
            let rows = explained(command);
            if !rows.is_empty() {
                page.push_str("\n| word | meaning |\n|---|---|\n");
            }
            for (word, text) in rows {
                let _ = writeln!(page, "| `{word}` | {} |", cell(text));
            }
        }
    }
    page
}

/// A grammar in lines of at most 100 characters.
fn folded(line: &str) -> String {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last_mut().expect("one");
        if last.len() + word.len() + 1 > 100 {
            lines.push(format!("    {word}"));
        } else {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
    }
    lines.join("\n")
}

/// Where a page lies.
fn file(name: &str) -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// `docs/features/` and `docs/commands.md` are generated: this test writes them anew where `UPDATE`
/// is set, and fails where they aren't current.
#[suite::test]
fn the_pages_of_features_are_current() {
    for plugin in plugins::ALL {
        let names: Vec<_> = AREAS.iter().map(|a| a.name).collect();
        assert!(
            names.contains(&plugin.area),
            "plugin `{}' has the area `{}': expected one of {names:?}, see docs/add-a-feature.md",
            plugin.name,
            plugin.area
        );
    }
    let folder = file("features");
    let mut pages: BTreeSet<String> = BTreeSet::new();
    let versions = versions();
    for area in AREAS {
        if let Some(page) = feature_page(area, &versions) {
            let name = format!("{}.md", area.name);
            testkit::golden::compare(&folder.join(&name), &page);
            pages.insert(name);
        }
    }
    testkit::golden::compare(&file("commands.md"), &command_page());
    for entry in std::fs::read_dir(folder).expect("the folder of pages").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(pages.contains(&name), "docs/features/{name}: no plugin has this area");
    }
}

/// Commands that plugins name in their texts are there.
#[suite::test]
fn declarations_name_commands_that_exist() {
    let commands: Vec<_> =
        plugins::ALL.iter().flat_map(|p| p.cli).chain(of_the_daemon()).map(|c| c.path).collect();
    let verbs: BTreeSet<_> = commands.iter().filter_map(|path| path.split(' ').next()).collect();
    let mut wrong = Vec::new();
    for plugin in plugins::ALL {
        let texts = plugin.does.iter().chain(plugin.limits);
        let spans = texts.flat_map(|text| text.split('`').skip(1).step_by(2));
        for span in spans.filter(|s| s.contains(' ')) {
            let known = |path: &&str| {
                let path = format!("{path} ");
                format!("{span} ").starts_with(&path) || path.starts_with(&format!("{span} "))
            };
            if verbs.contains(span.split(' ').next().unwrap_or("")) && !commands.iter().any(known) {
                wrong.push(format!("{}: `{span}`", plugin.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each explained word is one of a command.
#[suite::test]
fn explained_words_exist() {
    let all = plugins::ALL.iter().flat_map(|p| p.cli).chain(of_the_daemon());
    let commands: Vec<_> = all.collect();
    let used: BTreeSet<_> = commands.iter().flat_map(|c| explained(c)).collect();
    let stale: Vec<_> = words().filter(|(_, word, text)| !used.contains(&(word, text))).collect();
    assert!(stale.is_empty(), "{stale:#?}");
}

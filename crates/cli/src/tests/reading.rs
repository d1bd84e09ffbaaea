// SPDX-License-Identifier: Apache-2.0
//! Lines in; the command's arguments, or the error, out.

use super::*;
use crate::ErrorKind;

fn told(line: &str) -> String {
    let world = Toy::new();
    tree().execute(&world, line).unwrap_or_else(|e| panic!("{line}: {e}"));
    world.said()
}

#[track_caller]
fn refused(line: &str, message: &str) -> Error {
    let e = tree().execute(&Toy::new(), line).expect_err(line);
    assert_eq!(e.to_string().lines().next().unwrap(), message, "{line}");
    e
}

#[suite::test]
fn secrets_are_found_by_their_type() {
    static IKE: &[Command<()>] = &[Command {
        path: "set key",
        usage: "[id <id>] {<key:secret> | pair <one:secret> <two:secret>}",
        help: "",
        run: |_, _| Ok(crate::Output::empty()),
    }];
    let tree = crate::Tree::new(IKE).unwrap();
    assert_eq!(tree.secrets("set key id a 'big secret'"), ["big secret"]);
    assert_eq!(tree.secrets("se k pair x y"), ["x", "y"]);
    assert_eq!(tree.secrets("set kay x"), [""; 0]);
    let parsed = tree.parse("set key id a pair b c").unwrap().unwrap();
    assert_eq!(parsed.matches().texts().collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[suite::test]
fn a_watcher_is_told_of_each_command_without_its_secrets() {
    thread_local! { static TOLD: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) } }
    static IKE: &[Command<()>] = &[Command {
        path: "set key",
        usage: "[id <id>] {<key:secret> | pair <one:secret> <two:secret>}",
        help: "",
        run: |_, m| match m.has("one") {
            true => Err(crate::Error::failed("no pairs")),
            false => Ok(crate::Output::empty()),
        },
    }];
    let mut tree = crate::Tree::new(IKE).unwrap();
    tree.watch(|path, line, failed| {
        let failed = failed.map(|e| format!(": {}", e.brief())).unwrap_or_default();
        TOLD.with_borrow_mut(|told| told.push(format!("{path}: {line}{failed}")));
    });
    for line in ["set key id a 'big secret'", "se k pair x yy", "# nothing", "set kay x"] {
        // One of them is wrong.
        let _ = tree.execute(&(), line);
    }
    // Quotes stay where they are.
    let told = [
        "set key: set key id a '<secret>'",
        "set key: se k pair <secret> <secret>",
        "set key: se k pair <secret> <secret>: no pairs",
    ];
    TOLD.with_borrow(|all| assert_eq!(all[..], told));
}

#[suite::test]
fn abbreviations_and_exact_words() {
    assert_eq!(told("show interface address"), "[]");
    assert_eq!(told("sh int addr host-eth0"), "[\"<interface>=host-eth0\"]");
    assert_eq!(told("sh ip fib"), "[]"); // `ip` is whole, `ip6` only begins so
    assert_eq!(told("sh err"), "[]");
    refused("s int", "ambiguous input `s': set or show");
    refused("show i", "ambiguous input `i': interface, ip or ip6");
}

#[suite::test]
fn unknown_commands() {
    let e = refused("frobnicate the thing", "unknown input `frobnicate'");
    assert_eq!((e.kind(), e.code(), e.span()), (ErrorKind::Usage, -1, Some(0..10)));
    let e =
        refused("show intreface", "show: unknown input `intreface' (did you mean `interface'?)");
    assert_eq!(e.span(), Some(5..14));
    refused("show", "`show' is not complete: expected errors, interface, ip, ip6 or version");
    refused("set interface ip", "`set interface ip' is not complete: expected address");
}

#[suite::test]
fn optional_parts_come_in_any_order() {
    for line in ["show ip fib summary table 7 10.0.0.0/8", "show ip fib 10.0.0.0/8 table 7 summary"]
    {
        let mut words: Vec<_> =
            told(line).trim_matches(['[', ']']).split(", ").map(str::to_string).collect();
        words.sort();
        assert_eq!(words, ["\"<prefix>=10.0.0.0/8\"", "\"<table>=7\"", "\"summary\"", "\"table\""]);
    }
    refused(
        "show ip fib summary summary",
        "column 21: `summary' is not expected here: expected `table', <prefix> or the end of the line",
    );
}

#[suite::test]
fn groups_are_turns() {
    let line = "ip route add 10.0.0.0/8 count 5 table 3 via 10.1.1.1 host-eth0 weight 2 drop via 2001:db8::1 preference 9";
    let tree = tree();
    let parsed = tree.parse(line).unwrap().unwrap();
    let m = parsed.matches();
    assert_eq!(parsed.command().path, "ip route");
    assert!(m.flag("add") && !m.flag("del") && m.flag("drop"));
    assert_eq!(m.get::<u32>("table"), Some(3));
    assert_eq!(m.get::<wire::Ip4Prefix>("prefix").unwrap().to_string(), "10.0.0.0/8");
    let paths: Vec<_> = m
        .groups("via")
        .map(|g| (g.str("nexthop"), g.str("interface"), g.get::<u32>("weight")))
        .collect();
    assert_eq!(paths, [("10.1.1.1", "host-eth0", Some(2)), ("2001:db8::1", "", None)]);
    assert_eq!(m.groups("drop").count(), 1);
    assert_eq!(m.turns().count(), 3);
    assert_eq!(&line[m.span("preference").unwrap()], "preference");
    assert_eq!(m.get::<u8>("preference"), Some(9));
    assert_eq!(m.all::<std::net::IpAddr>("nexthop").unwrap().len(), 2);
}

#[suite::test]
fn literals_win_over_words() {
    // `all` could be … nothing else here, but `address` could be an interface of `show interface`.
    assert_eq!(
        told("set interface ip address del host-eth0 all"),
        r#"["del", "<interface>=host-eth0", "all"]"#
    );
    assert_eq!(
        told("ip route add 10.0.0.0/8 via 10.1.1.1 weight 2").matches("<interface>").count(),
        0
    );
    assert_eq!(told("ip route add 10.0.0.0/8 via 10.1.1.1 drop").matches("<interface>").count(), 0);
}

#[suite::test]
fn errors_say_what_and_where() {
    let e = refused(
        "ip route add 10.0.0.0/33 drop",
        "column 14: <prefix>: length 33 of `10.0.0.0/33' is more than 32",
    );
    assert_eq!(e.span(), Some(13..24));
    assert!(e.usage_line().unwrap().starts_with("ip route {add|del} <prefix> [table <table>]"));
    refused(
        "ip route add 10.0.0.0/8 vai 10.1.1.1",
        "column 25: `vai' is not expected here: expected `table', `count', `via' or `drop' (did you mean `via'?)",
    );
    refused("set interface state host-eth0", "the line is not complete: expected `up' or `down'");
    refused(
        "set interface state host-eth0 upp",
        "column 31: `upp' is not expected here: expected `up' or `down' (did you mean `up'?)",
    );
    refused("set interface mtu 20 host-eth0", "column 19: <mtu>: `20' is not between 64 and 9216");
    refused(
        "show errors now",
        "column 13: `now' is not expected here: expected the end of the line",
    );
    refused("packet-generator new { a", "column 22: this `{' is not closed");
    refused("exec \"a b", "column 6: this quote is not closed");
    refused("ip route add 10.0.0.0/8 table x drop", "column 31: <table>: `x' is not a number");
}

#[suite::test]
fn errors_of_commands_keep_their_place() {
    let e = refused("show interface eth9", "no interface `eth9'");
    assert_eq!((e.kind(), e.code(), e.span()), (ErrorKind::NotFound, -2, Some(15..19)));
    assert_eq!(e.usage_line(), None);
    assert_eq!(refused("fail -7", "it failed").code(), -7);
}

#[suite::test]
fn json_at_the_end() {
    let (tree, world) = (tree(), Toy::new());
    for line in ["show interface host-eth1 -j", "show interface host-eth1 json"] {
        let o = tree.execute(&world, line).unwrap();
        assert!(o.json);
        assert_eq!(o.output.to_json().to_string(), r#"[{"name":"host-eth1","idx":2}]"#);
    }
    let o = tree.execute(&world, "echo this is json").unwrap();
    assert_eq!((o.json, o.output.to_text().as_str()), (false, "this is json\n"));
    assert!(tree.execute(&world, "show version verbose -j").unwrap().json);
    assert!(tree.execute(&world, "echo -j").unwrap().output.to_text() == "-j\n");
    assert_eq!(
        refused(
            "show errors now json",
            "column 13: `now' is not expected here: expected the end of the line"
        )
        .span(),
        Some(12..15)
    );
}

#[suite::test]
fn blocks_quotes_rests() {
    let tree = tree();
    let line = "packet-generator new {\n  name x\n  data { IP4: 1.2.3 }\n}";
    assert_eq!(
        tree.parse(line).unwrap().unwrap().matches().str("spec"),
        "\n  name x\n  data { IP4: 1.2.3 }\n"
    );
    let line = "packet-generator new pcap \"/tmp/a b\" limit 1 limit 0x10";
    let p = tree.parse(line).unwrap().unwrap();
    assert_eq!(p.matches().str("file"), "/tmp/a b");
    assert_eq!(p.matches().all::<u64>("limit").unwrap(), [1, 16]);
    assert_eq!(
        tree.execute(&Toy::new(), "echo  a  'b {c ").unwrap().output.to_text(),
        "a  'b {c\n"
    );
    for blank in ["", "  ", "# x", "#", "comment { anything }", "comment foo"] {
        assert!(tree.parse(blank).unwrap().is_none(), "{blank}");
    }
}

#[suite::test]
fn trees_refuse_bad_commands_all_at_once() {
    static BAD: &[Command<Toy>] =
        &[command("a", "[", ""), command("b", "", ""), command("b", "", ""), command("", "", "")];
    let e = Tree::new(BAD).err().unwrap().to_string();
    assert_eq!(e.lines().count(), 3, "{e}");
    assert!(
        e.contains("command `a': usage `['")
            && e.contains("command `b': this path is already taken"),
        "{e}"
    );
    assert_eq!(tree().live_kinds(), ["interface"]);
    assert_eq!(tree().commands().len(), TOY.len());
}

#[suite::test]
fn hopeless_grammars_end() {
    static HARD: &[Command<Toy>] = &[command(
        "x",
        "[<a>] [<b>] [<c>] [<d>] [<e>] [<f>] [<g>] [<h>] [<i>] [<j>] [<k>] [<l>] end",
        "",
    )];
    let tree = Tree::new(HARD).unwrap();
    tree.check("x 1 2 3 4 5 6 7 8 9 10 11 12 end").unwrap();
    let e = tree.check("x 1 2 3 4 5 6 7 8 9 10 11 12 13").unwrap_err();
    assert!(e.to_string().contains("too ambiguous"), "{e}");
}

#[suite::test]
fn repeats_of_what_may_be_empty_end() {
    static LOOPS: &[Command<Toy>] = &[command("x", "{[a] [b]}... [{[c]}...]... [[d]]", "")];
    let tree = Tree::new(LOOPS).unwrap();
    tree.check("x a b b a c c d").unwrap();
    assert!(tree.check("x e").is_err());
}

#[suite::test]
fn parts_in_parentheses_come_in_any_order() {
    static CLI: &[Command<Toy>] =
        &[command("check", "([ip4|ip6] {on|off} <if:interface> [table <t:u32>])", "")];
    let tree = Tree::new(CLI).unwrap();
    for line in
        ["check ip6 on eth0 table 7", "check eth0 table 7 on ip6", "check table 7 ip6 eth0 on"]
    {
        let parsed = tree.parse(line).unwrap().unwrap();
        let m = parsed.matches();
        assert_eq!(
            (m.flag("ip6"), m.flag("on"), m.str("if"), m.get::<u32>("t")),
            (true, true, "eth0", Some(7)),
            "{line}"
        );
    }
    let said = |line: &str| tree.check(line).unwrap_err().to_string();
    // Only the first three are needed, and none comes twice.
    assert!(tree.check("check eth0 off").is_ok());
    assert!(
        said("check eth0")
            .starts_with("the line is not complete: expected `ip4', `ip6', `on', `off' or `table'"),
        "{}",
        said("check eth0")
    );
    assert!(said("check on table 7").contains("<if>"), "{}", said("check on table 7"));
    assert!(
        said("check on eth0 off").contains("`off' is not expected here"),
        "{}",
        said("check on eth0 off")
    );
    let usage = "check ([ip4|ip6] {on|off} <if> [table <t>])";
    assert!(said("check").contains(usage), "{}", said("check"));
}

// SPDX-License-Identifier: Apache-2.0
//! Long answers: slices, both forms, ends.

use crate::list::{SLICE, TIME};
use crate::{
    Command, Error, Output, OutputPiece, Result, Runner, Sequence, Step, Table, Tree, Writer,
    pieces,
};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

/// A table of numbers, and how often each form of a row was made.
#[derive(Default)]
struct World {
    numbers: RefCell<BTreeSet<u32>>,
    texts: Cell<usize>,
    values: Cell<usize>,
}

impl World {
    fn new(n: u32) -> Self {
        Self { numbers: RefCell::new((0..n).collect()), ..Self::default() }
    }
}

fn count(cell: &Cell<usize>) {
    cell.set(cell.get() + 1);
}

fn number(w: &World, n: u32, out: &mut Writer) -> Result<()> {
    if !w.numbers.borrow().contains(&n) {
        return Ok(());
    }
    out.text(|text| {
        count(&w.texts);
        let _ = writeln!(text, "number {n}");
    });
    out.value(|| {
        count(&w.values);
        json!({ "n": n, "half": { "of": [n / 2] }, "none": [] })
    });
    Ok(())
}

struct Samples(u32, String);

impl Sequence<World> for Samples {
    fn next(&mut self, _: &Tree<World>, _: &World, last: Option<Result<Vec<OutputPiece>>>) -> Step {
        self.1.extend(
            last.into_iter()
                .flatten()
                .flatten()
                .map(|(OutputPiece::Answer(t) | OutputPiece::Chunk(t))| t),
        );
        self.0 += 1;
        match self.0 {
            1 => Step::Sample("show numbers".into(), false, 3),
            2 => Step::Sample("show numbers".into(), true, 3),
            3 => Step::Run("show odd".into(), false),
            _ => Step::Done(Output::text(std::mem::take(&mut self.1))),
        }
    }
}

enum Part {
    Head,
    Number(u32),
    Tail,
}

static CLI: &[Command<World>] = &[
    Command {
        path: "show numbers",
        usage: "",
        help: "",
        run: |_, _| {
            // Keys that the world is asked for when their turn comes.
            Ok(Output::list(0..1_000_000, number))
        },
    },
    Command {
        path: "show table",
        usage: "",
        help: "",
        run: |w, _| {
            let all = w.numbers.borrow().clone();
            let behind = move |after: Option<u32>, n| {
                let from = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
                all.range((from, std::ops::Bound::Unbounded)).copied().take(n).collect()
            };
            let table = Table::new().right("N").left("Word");
            Ok(table.list(pieces(behind, |n| *n), |_: &World, n, out: &mut Writer| {
                out.row([n.into(), "x".repeat((n / 300) as usize).into()]);
                Ok(())
            }))
        },
    },
    Command {
        path: "show slow",
        usage: "",
        help: "",
        run: |_, _| {
            let table = Table::new().left("Word").right("N");
            Ok(table.list(0..4u32, |_: &World, n, out: &mut Writer| {
                // Each row is a slice of its own.
                std::thread::sleep(TIME);
                out.row(["x".repeat(3 * n as usize).into(), n.into()]);
                Ok(())
            }))
        },
    },
    Command {
        path: "show record",
        usage: "",
        help: "",
        run: |_, _| {
            let parts = (0..600).map(Part::Number);
            let parts = [Part::Head].into_iter().chain(parts).chain([Part::Tail]);
            Ok(Output::record(parts, |_: &World, part, out: &mut Writer| {
                match part {
                    Part::Head => {
                        out.text(|t| t.push_str("all numbers\n"));
                        out.field("on", true);
                        out.array("numbers");
                        out.table(&Table::new().right("N"));
                    }
                    Part::Number(n) => out.row([n.into()]),
                    Part::Tail => {
                        out.end();
                        out.object_in("more");
                        out.field("a \"key\"\n", "é");
                        out.end();
                        out.array("no");
                        out.end();
                        out.text(|t| t.push_str("that is all\n"));
                    }
                }
                Ok(())
            }))
        },
    },
    Command {
        path: "show one",
        usage: "<n:u32>",
        help: "",
        run: |_, m| {
            let wanted: u32 = m.req("n")?;
            let mut found = false;
            let items = (0..1000).map(Some).chain([None]);
            Ok(Output::list(items, move |_: &World, n, out: &mut Writer| {
                match n {
                    Some(n) if n == wanted => {
                        found = true;
                        out.text(|t| t.push_str("found\n"));
                        out.value(|| n);
                    }
                    None if !found => {
                        return Err(Error::not_found(format!("there is no {wanted}")));
                    }
                    _ => {}
                }
                Ok(())
            }))
        },
    },
    Command {
        path: "show odd",
        usage: "",
        help: "",
        run: |_, _| {
            Ok(Output::list(0..1000u32, |_: &World, n, out: &mut Writer| {
                out.text(|t| t.push_str("row\n"));
                out.value(|| n);
                if n == 500 { Err(Error::failed("broken")) } else { Ok(()) }
            }))
        },
    },
    Command {
        path: "show while",
        usage: "[record]",
        help: "",
        run: |_, m| {
            let mut n = 0;
            let is_record = m.flag("record");
            let step = move |w: &World, out: &mut Writer| {
                // The first is found by the world, and the last one's turn is the end.
                let first = w.numbers.borrow().range(n..).next().copied();
                n = first.map_or(n, |first| first + 1);
                if let Some(found) = first {
                    out.text(|text| writeln!(text, "{found}"));
                    if is_record {
                        out.field(&found.to_string(), found)
                    } else {
                        out.value(|| found)
                    }
                }
                Ok(first.is_some())
            };
            Ok(if is_record { Output::record_while(step) } else { Output::list_while(step) })
        },
    },
    Command {
        path: "samples",
        usage: "",
        help: "",
        run: |_, _| Ok(Output::sequence(Samples(0, String::new()))),
    },
    Command {
        path: "exec",
        usage: "<text:string>",
        help: "",
        run: |_, m| Ok(Output::script("text", m.str("text").replace(';', "\n"))),
    },
];

fn tree() -> Tree<World> {
    Tree::new(CLI).expect("a good tree")
}

/// Runs a line: the pieces of its answer, and how it ends. `turn` is called before each turn.
fn run(
    world: &World,
    line: &str,
    mut turn: impl FnMut(usize, &mut Runner),
) -> (Vec<String>, Result<()>) {
    let (tree, mut runner, mut said, mut pieces) =
        (tree(), Runner::default(), Vec::new(), Vec::new());
    runner.line(&tree, world, line, false, &mut said);
    for n in 0.. {
        turn(n, &mut runner);
        let ended = runner.poll(&tree, world, Duration::ZERO, &mut said);
        pieces.extend(said.drain(..).map(|(OutputPiece::Answer(t) | OutputPiece::Chunk(t))| t));
        if let Some(result) = ended {
            return (pieces, result);
        }
    }
    unreachable!()
}

fn whole(world: &World, line: &str) -> String {
    let (pieces, result) = run(world, line, |_, _| ());
    assert_eq!(result, Ok(()), "{line}");
    pieces.concat()
}

#[suite::test]
fn slices_are_bounded_and_make_the_whole_in_one_form() {
    let w = World::new(10_000);
    let (pieces, _) = run(&w, "show numbers", |_, _| ());
    assert!(pieces.iter().all(|p| p.lines().count() <= SLICE), "a slice is longer");
    let text: String = (0..10_000).map(|n| format!("number {n}\n")).collect();
    assert!(pieces.concat() == text);
    assert_eq!((w.texts.get(), w.values.get()), (10_000, 0));

    let expected: Vec<Value> =
        (0..10_000).map(|n| json!({ "n": n, "half": { "of": [n / 2] }, "none": [] })).collect();
    // As serde_json writes it, to the byte.
    assert!(whole(&w, "show numbers -j") == format!("{:#}\n", Value::Array(expected)));
    assert_eq!((w.texts.get(), w.values.get()), (10_000, 10_000));
    assert_eq!(whole(&World::new(0), "show numbers -j"), "[]\n");
    assert_eq!(whole(&World::new(0), "show numbers"), "");
}

#[suite::test]
fn columns_are_as_wide_however_slowly_rows_come() {
    let text = whole(&World::new(0), "show slow");
    assert_eq!(text, "Word       N\n           0\nxxx        1\nxxxxxx     2\nxxxxxxxxx  3\n");
}

#[suite::test]
fn what_is_there_all_the_time_is_shown_once_whatever_comes_and_goes() {
    let w = World::new(3000);
    let (pieces, result) = run(&w, "show numbers", |turn, _| {
        let mut numbers = w.numbers.borrow_mut();
        numbers.remove(&2999u32.saturating_sub(turn as u32));
        numbers.insert(10_000 + turn as u32);
        numbers.remove(&(turn as u32));
    });
    assert_eq!(result, Ok(()));
    let text = pieces.concat();
    let shown: Vec<&str> = text.lines().collect();
    let unique: BTreeSet<&&str> = shown.iter().collect();
    assert_eq!(unique.len(), shown.len());
    let steady = w
        .numbers
        .borrow()
        .iter()
        .filter(|n| **n < 3000)
        .all(|n| unique.contains(&&*format!("number {n}")));
    assert!(steady);
}

#[suite::test]
fn tables_grow_wider_as_they_go_and_have_a_head_in_any_case() {
    let text = whole(&World::new(700), "show table");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[1]), (701, "  N  Word", "  0"));
    assert_eq!((lines[300], lines[301], lines[700]), ("299", "300  x", "699  xx"));
    let json: Value =
        serde_json::from_str(&whole(&World::new(700), "show table -j")).expect("JSON");
    assert_eq!(
        (json.as_array().map(Vec::len), &json[699]),
        (Some(700), &json!({ "n": 699, "word": "xx" }))
    );
    assert_eq!(whole(&World::new(0), "show table"), "N  Word\n");
    assert_eq!(whole(&World::new(0), "show table -j"), "[]\n");
}

#[suite::test]
fn records_have_members_and_lists() {
    let w = World::new(0);
    let text = whole(&w, "show record");
    assert!(
        text.starts_with("all numbers\n  N\n  0\n") && text.ends_with("599\nthat is all\n"),
        "{text}"
    );
    let numbers: Vec<Value> = (0..600).map(|n| json!({ "n": n })).collect();
    let expected =
        json!({ "on": true, "numbers": numbers, "more": { "a \"key\"\n": "é" }, "no": [] });
    assert!(whole(&w, "show record -j") == format!("{expected:#}\n"));
}

#[suite::test]
fn errors_before_the_first_row_stand_alone_and_later_ones_leave_whole_json() {
    let w = World::new(0);
    for form in ["", " -j"] {
        let (pieces, result) = run(&w, &format!("show one 2000{form}"), |_, _| ());
        assert_eq!((pieces.concat().as_str(), result.is_err()), ("", true));
    }
    assert_eq!(
        (whole(&w, "show one 900").as_str(), whole(&w, "show one 900 -j").as_str()),
        ("found\n", "[\n  900\n]\n")
    );
    let (pieces, result) = run(&w, "show odd -j", |_, _| ());
    assert_eq!(result.expect_err("it breaks").message(), "broken");
    let json: Value = serde_json::from_str(&pieces.concat()).expect("JSON all the same");
    assert_eq!(json.as_array().map(Vec::len), Some(501));
    let (pieces, result) = run(&w, "exec 'show odd;show odd'", |_, _| ());
    assert_eq!(
        (pieces.concat().lines().count(), result.expect_err("it breaks").message()),
        (501, "text:1: broken")
    );
}

#[suite::test]
fn a_cancelled_answer_ends_at_once_and_enough_is_no_error() {
    let w = World::new(1_000_000);
    for (form, cancel) in [("", true), (" -j", true), ("", false)] {
        let (pieces, result) = run(&w, &format!("show numbers{form}"), |turn, runner| {
            if turn == 3 {
                if cancel { runner.cancel() } else { runner.enough() }
            }
        });
        assert_eq!(result.is_err(), cancel);
        let text = pieces.concat();
        assert!(!text.is_empty() && text.len() < 4 * (64 << 10) + 1000, "{} bytes", text.len());
        if !form.is_empty() {
            serde_json::from_str::<Value>(&text).expect("JSON all the same");
        }
    }
    let (pieces, result) = run(&w, "exec 'show numbers;show one 3'", |turn, runner| {
        if turn == 4 {
            runner.enough();
        }
    });
    assert_eq!((result, pieces.last().map(String::as_str)), (Ok(()), Some("found\n")));
}

#[suite::test]
fn samples_say_that_there_may_be_more() {
    let w = World::new(1000);
    let text = whole(&w, "samples");
    let first = "number 0\nnumber 1\nnumber 2\n… the first 3: `show numbers' shows all\n[\n";
    assert!(text.starts_with(first), "{text}");
    let json = &text[first.len() - 2..];
    let value: Value =
        serde_json::from_str(json).expect("JSON, and nothing of the third line, which failed");
    assert_eq!(value.as_array().map(Vec::len), Some(3));
    assert_eq!(w.values.get(), 3);
}

#[suite::test]
fn steps_end_where_they_say_so() {
    let w = World::new(600);
    let text: String = (0..600).map(|n| format!("{n}\n")).collect();
    assert!(whole(&w, "show while") == text && whole(&w, "show while record") == text);
    let json = |line| serde_json::from_str::<Value>(&whole(&w, line)).expect("JSON");
    assert_eq!(json("show while -j"), json!((0..600).collect::<Vec<u32>>()));
    assert_eq!(
        json("show while record -j").as_object().map(|all| (all.len(), all["599"].clone())),
        Some((600, json!(599)))
    );
    assert_eq!(whole(&World::new(0), "show while record -j"), "{}\n");
}

/// A string that is as long as a table comes in slices, whole in JSON also where it is cut.
#[suite::test]
fn a_long_string_is_written_in_pieces() {
    static CLI: &[Command<()>] = &[Command {
        path: "show text",
        usage: "",
        help: "",
        run: |_, _| {
            let (mut n, mut begun) = (0, false);
            Ok(Output::record_while(move |_: &(), out: &mut Writer| {
                if !std::mem::replace(&mut begun, true) {
                    out.string("all");
                }
                n += 1;
                let line = format!("\"{n}\"\\\n");
                out.text(|text| text.push_str(&line));
                out.piece(&line);
                if n == 1000 {
                    out.end();
                    out.piece("nothing is open");
                    out.field("more", 1);
                }
                Ok(n < 1000)
            }))
        },
    }];
    let tree = Tree::new(CLI).unwrap();
    let run = |line: &str, cancel: bool| {
        let (mut runner, mut said, mut turns) = (Runner::default(), Vec::new(), 0);
        runner.line(&tree, &(), line, false, &mut said);
        while runner.poll(&tree, &(), Duration::ZERO, &mut said).is_none() {
            turns += 1;
            if cancel {
                runner.cancel();
            }
        }
        (
            turns,
            said.into_iter()
                .map(|(OutputPiece::Answer(t) | OutputPiece::Chunk(t))| t)
                .collect::<String>(),
        )
    };
    let (turns, text) = run("show text", false);
    assert!(turns >= 3 && text.lines().count() == 1000, "{turns} turns: {text}");
    let (_, json) = run("show text -j", false);
    let json: Value = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
    assert_eq!(json, json!({ "all": text, "more": 1 }));
    let (_, json) = run("show text -j", true);
    let json: Value = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
    assert!(
        json["all"].as_str().is_some_and(|all| !all.is_empty() && text.starts_with(all)),
        "{json}"
    );
}

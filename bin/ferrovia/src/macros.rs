// SPDX-License-Identifier: Apache-2.0
//! Macros, as in VPP: `define NAME VALUE` gives a name to a text, for which `$(NAME)` and `$NAME`
//! stand in scripts and in lines that are typed. Values may name other macros; they are looked up
//! when the script or the line is read.
//!
//! ```text
//! define uplink host-eth0
//! set interface state $(uplink) up
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Macros in macros: VPP's limit.
const DEPTH: usize = 8;
/// Bytes that a line may grow to.
const LONGEST: usize = 1 << 16;

type Macros = BTreeMap<String, String>;

/// Macros that `define` has set, by name.
static MACROS: Mutex<Macros> = Mutex::new(BTreeMap::new());

fn macros() -> MutexGuard<'static, Macros> {
    MACROS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a name to a text.
pub fn define(name: &str, value: &str) {
    macros().insert(name.into(), value.into());
}

/// Forgets a name; false if there is none.
pub fn undefine(name: &str) -> bool {
    macros().remove(name).is_some()
}

/// All names with their texts; with `evaluate` the macros in these are replaced, where they can be.
pub fn all(evaluate: bool) -> Vec<(String, String)> {
    let macros = macros();
    let value = |text: &String| match replaced(text, &macros, DEPTH) {
        Ok(value) if evaluate => value,
        _ => text.clone(),
    };
    macros.iter().map(|(name, text)| (name.clone(), value(text))).collect()
}

/// Replaces the macros in a script or a typed line. A `define` in the script is in force for the
/// lines after it.
///
/// # Errors
/// The line, from 1, and what is wrong with it.
pub fn expand(script: &str) -> Result<Cow<'_, str>, (usize, String)> {
    expand_with(script, macros().clone())
}

fn expand_with(script: &str, mut macros: Macros) -> Result<Cow<'_, str>, (usize, String)> {
    if !script.contains('$') {
        return Ok(script.into());
    }
    let mut out = String::with_capacity(script.len());
    for (i, line) in script.split_inclusive('\n').enumerate() {
        let words = line.trim();
        if words.starts_with('#') {
            out += line;
            continue;
        }
        // A value is kept as it stands, as by the command.
        let defined =
            words.split_once(' ').filter(|(word, _)| "define".starts_with(word) && word.len() > 2);
        if let Some((name, value)) = defined.and_then(|(_, rest)| rest.trim().split_once(' ')) {
            macros.insert(name.into(), value.trim().into());
            out += line;
            continue;
        }
        out += &replaced(line, &macros, DEPTH).map_err(|why| (i + 1, why))?;
    }
    Ok(out.into())
}

/// Splits the text after a `$` into the macro's name and the rest. `None` if it is no macro: a name
/// without parentheses has to be defined.
fn name<'t>(text: &'t str, macros: &Macros) -> Result<Option<(&'t str, &'t str)>, String> {
    if let Some(text) = text.strip_prefix('(') {
        let (name, rest) = text.split_once(')').ok_or("a macro without its `)'")?;
        return Ok(Some((name.trim(), rest)));
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    Ok(macros.contains_key(name).then_some((name, rest)))
}

fn replaced(text: &str, macros: &Macros, depth: usize) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out += before;
        rest = after;
        let Some((name, after)) = name(rest, macros)? else {
            out.push('$');
            continue;
        };
        let value = macros.get(name).ok_or_else(|| format!("no macro is named `{name}'"))?;
        let depth =
            depth.checked_sub(1).ok_or_else(|| format!("macros within macros: {DEPTH} at most"))?;
        out += &replaced(value, macros, depth)?;
        if out.len() > LONGEST {
            return Err(format!("macros make a line longer than {LONGEST} bytes"));
        }
        rest = after;
    }
    Ok(out + rest)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn macros() -> Macros {
        let all = [("a", "one"), ("b", "$(a) two"), ("loop", "$(loop)")];
        all.into_iter().map(|(n, v)| (n.to_string(), v.to_string())).collect()
    }

    #[suite::test]
    fn names_are_replaced_by_their_texts() {
        let expanded = |text| expand_with(text, macros()).map(Cow::into_owned);
        assert_eq!(
            expanded("echo $(a)\n# $(none)\nx $( b )$(a) $5\n"),
            Ok("echo one\n# $(none)\nx one twoone $5\n".into())
        );
        // Without parentheses, where there is such a macro.
        assert_eq!(
            expanded("$a $b.$a/$a1 $ab $$a pa$$ $"),
            Ok("one one two.one/$a1 $ab $one pa$$ $".into())
        );
        assert_eq!(
            expanded("def d $a\ndefine a two\n$d"),
            Ok("def d $a\ndefine a two\ntwo".into())
        );
        assert_eq!(expanded("no macro"), Ok("no macro".into()));
        // A `define` inside the script applies to the lines after it.
        let script = "echo $(a)\ndefine a $(c) x\ndefine c 3\necho $(a)";
        assert_eq!(expanded(script), Ok("echo one\ndefine a $(c) x\ndefine c 3\necho 3 x".into()));
    }

    #[suite::test]
    fn what_cannot_be_replaced_is_refused_with_its_line() {
        let wrong = |text| expand_with(text, macros()).map(Cow::into_owned);
        assert_eq!(wrong("echo\necho $(none)"), Err((2, "no macro is named `none'".into())));
        assert_eq!(wrong("echo $(a"), Err((1, "a macro without its `)'".into())));
        assert_eq!(wrong("$loop"), Err((1, "macros within macros: 8 at most".into())));
        assert_eq!(wrong("$(loop)"), Err((1, "macros within macros: 8 at most".into())));
        // Ten of ten of ten … times 1000 bytes.
        let mut wide: Macros =
            (1..7).map(|i| (format!("m{i}"), format!("$(m{})", i - 1).repeat(10))).collect();
        wide.insert("m0".into(), "x".repeat(1000));
        let error = expand_with("$(m6)", wide).map(Cow::into_owned);
        assert_eq!(error, Err((1, "macros make a line longer than 65536 bytes".into())));
    }
}

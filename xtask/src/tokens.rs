// SPDX-License-Identifier: Apache-2.0
//! Rust code as words and signs: as much of a lexer as it takes to leave comments, strings and
//! unit tests out.

/// Words (`crate`, `x1`), `::`, and every other sign as a character of its own.
pub fn of(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if let Some(len) = skipped(rest) {
            rest = &rest[len..];
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(&rest[..end]);
            rest = &rest[end..];
        } else {
            let len = if rest.starts_with("::") { 2 } else { first.len_utf8() };
            if !first.is_whitespace() {
                tokens.push(&rest[..len]);
            }
            rest = &rest[len..];
        }
    }
    tokens
}

/// Length of the comment, string or character that `code` begins with.
fn skipped(code: &str) -> Option<usize> {
    let end = |text: &str, mark: &str| text.find(mark).map_or(text.len(), |at| at + mark.len());
    if code.starts_with("//") {
        return Some(code.find('\n').unwrap_or(code.len()));
    }
    if code.starts_with("/*") {
        return Some(end(code, "*/"));
    }
    let after = code.strip_prefix('b').unwrap_or(code);
    let prefix = code.len() - after.len();
    if let Some(raw) = after.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if let Some(body) = raw[hashes..].strip_prefix('"') {
            let mark = format!("\"{}", "#".repeat(hashes));
            return Some(prefix + 1 + hashes + 1 + end(body, &mark));
        }
    }
    if let Some(body) = after.strip_prefix('"') {
        let mut escaped = false;
        let closing = body.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        return Some(prefix + 1 + closing.map_or(body.len(), |at| at + 1));
    }
    // A character, not a lifetime.
    let body = after.strip_prefix('\'')?;
    let first = body.chars().next()?;
    let len = if first == '\\' { 2 + body[2..].find('\'')? } else { first.len_utf8() };
    body[len..].starts_with('\'').then_some(prefix + 1 + len + 1)
}

/// The tokens without modules for tests alone, `#[cfg(…)] mod name { … }`.
pub fn without_tests(code: &str) -> Vec<&str> {
    let all = of(code);
    let mut kept = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let attributes = attributes(&all[at..]);
        let behind = at + attributes;
        let is_for_tests = matches!(
            &all[at..behind],
            ["#", "[", "cfg", "(", "test", ")", "]", ..]
                // The name of the feature is a string, and none of the conditions is another one.
                | ["#", "[", "cfg", "(", "feature", "=", ")", "]", ..]
        );
        if let (true, ["mod", _, "{", ..]) = (is_for_tests, &all[behind..]) {
            at = behind + 2 + block(&all[behind + 2..]);
        } else {
            let end = (at + attributes.max(1)).min(all.len());
            kept.extend(&all[at..end]);
            at = end;
        }
    }
    kept
}

/// Number of the tokens of the attributes that `tokens` begin with.
fn attributes(tokens: &[&str]) -> usize {
    let mut at = 0;
    while let ["#", "[", ..] = tokens[at..] {
        let mut depth = 0;
        let closing = tokens[at..].iter().position(|token| {
            depth += i32::from(*token == "[") - i32::from(*token == "]");
            *token == "]" && depth == 0
        });
        at += closing.map_or(tokens.len() - at, |n| n + 1);
    }
    at
}

/// Number of the tokens of the block that `tokens` begin with.
pub fn block(tokens: &[&str]) -> usize {
    let mut depth = 0;
    let closing = tokens.iter().position(|token| {
        depth += i32::from(*token == "{") - i32::from(*token == "}");
        depth == 0
    });
    closing.map_or(tokens.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(code: &str) -> String {
        without_tests(code).join(" ")
    }

    #[test]
    fn comments_strings_and_characters_are_left_out() {
        assert_eq!(of("use a::b; // c\nx/*d*/y").join(" "), "use a :: b ; x y");
        assert_eq!(
            of(r##"f("a\"b", r#"c"d"#, b"e", 'g', '\'', '\u{1f}', &'h str)"##).join(" "),
            "f ( , , , , , , & ' h str )"
        );
        assert_eq!(of("'a: loop { break 'a }").join(" "), "' a : loop { break ' a }");
        assert_eq!(of("é \"open").join(" "), "é");
    }

    #[test]
    fn modules_of_tests_are_left_out() {
        assert_eq!(text("a; #[cfg(test)]\nmod tests { use super::x; fn f() {} }\nb;"), "a ; b ;");
        assert_eq!(text("#[cfg(feature = \"tests\")]\n#[allow(x)] mod tests { y }\nb;"), "b ;");
        assert_eq!(text("#[cfg(unix)] mod m { y } b;"), "# [ cfg ( unix ) ] mod m { y } b ;");
        assert_eq!(text("#[cfg(test)] mod tests; b;"), "# [ cfg ( test ) ] mod tests ; b ;");
        assert_eq!(text("#[cfg(test)] mod tests { open"), "");
    }
}

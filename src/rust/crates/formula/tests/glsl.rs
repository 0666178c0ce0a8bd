//! The GLSL reading of the tables, checked without a shader compiler.

use ggmlr_formula::{BinaryId, GluId, UnaryId, glsl};
use std::collections::BTreeSet;

/// All texts with the variables they may use.
fn texts() -> Vec<(String, String, Vec<&'static str>)> {
    let mut all = Vec::new();
    for id in UnaryId::ALL {
        let text = id.glsl();
        let parameters = &["p0", "p1"][..id.n_params()];
        all.push((id.name().to_string(), text.value, [&["x"], parameters].concat()));
        all.push((id.name().to_string(), text.slope, [&["x", "y"], parameters].concat()));
    }
    for id in BinaryId::ALL {
        let text = id.glsl();
        all.push((id.name().to_string(), text.value, vec!["a", "b"]));
        all.push((id.name().to_string(), text.by_a, vec!["a", "b", "y"]));
        all.push((id.name().to_string(), text.by_b, vec!["a", "b", "y"]));
    }
    for id in GluId::ALL {
        let text = id.glsl();
        for part in [text.value, text.by_x, text.by_g] {
            all.push((id.name().to_string(), part, vec!["x", "g"]));
        }
    }
    all
}

/// Words (names and numbers) of a text and what follows each.
fn words(text: &str) -> Vec<(&str, Option<char>)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        rest = &rest[start..];
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        words.push((&rest[..end], rest[end..].chars().next()));
        rest = &rest[end..];
    }
    words
}

fn defined() -> BTreeSet<String> {
    let helpers = glsl::helpers();
    let heads = helpers.lines().filter(|line| line.starts_with("float fm_"));
    heads.filter_map(|line| Some(line.strip_prefix("float ")?.split_once('(')?.0.to_string())).collect()
}

#[test]
fn texts_hold_nothing_but_calls_variables_float_literals_and_operators() {
    let functions = defined();
    for (name, text, variables) in texts() {
        let mut depth = 0i32;
        for c in text.chars() {
            depth += i32::from(c == '(') - i32::from(c == ')');
            assert!(depth >= 0, "{name}: {text}");
            assert!(c.is_ascii_alphanumeric() || "()+-*/<>=,._".contains(c), "{name}: '{c}' in {text}");
        }
        assert_eq!(depth, 0, "{name}: {text}");
        assert!(!text.contains("--") && !text.contains("++"), "{name}: not two signs in GLSL: {text}");
        for (word, next) in words(&text) {
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            if is_number {
                assert!(word.contains('.') && word.parse::<f64>().is_ok(), "{name}: literal {word}");
            } else if next == Some('(') {
                assert!(functions.contains(word), "{name}: {word} is not in the prelude");
            } else {
                assert!(variables.contains(&word), "{name}: variable {word} in {text}");
            }
        }
    }
}

#[test]
fn helpers_are_defined_before_use_and_suffice() {
    for (_, text, _) in texts() {
        let source = glsl::helpers_for(&text);
        let mut known = BTreeSet::new();
        for line in source.lines().filter(|line| !line.starts_with("//")) {
            for (word, _) in words(line).into_iter().filter(|(word, _)| word.starts_with("fm_")) {
                if line.starts_with("float fm_") && known.insert(word.to_string()) {
                    continue;
                }
                assert!(known.contains(word), "{word} before its definition");
            }
        }
        for (word, _) in words(&text).into_iter().filter(|(word, _)| word.starts_with("fm_")) {
            assert!(known.contains(word), "{word} missing");
        }
    }
}

#[test]
fn helpers_are_only_those_needed() {
    assert_eq!(glsl::helpers_for("x + y"), "");
    let sigmoid = glsl::helpers_for("fm_sigmoid(x)");
    assert!(sigmoid.contains("float fm_exp(") && !sigmoid.contains("fm_sin"));
    assert!(glsl::helpers_for(&GluId::Geglu.glsl().by_x).contains("float fm_d_gelu(float x, float y)"));
}

/// A function that a formula calls has to exist in three places; this compares the lists by their source.
#[test]
fn the_three_maths_libraries_have_the_same_functions() {
    let names = |source: &str, head: &str, prefix: &str| -> BTreeSet<String> {
        let lines = source.lines().filter_map(|line| line.strip_prefix(head)?.strip_prefix(prefix));
        lines.filter_map(|line| Some(line.split_once('(')?.0.to_string())).collect()
    };
    let single = names(include_str!("../src/math/f32.in.rs"), "pub fn ", "");
    let double = names(include_str!("../src/math/f64.rs"), "pub fn ", "");
    let shader = names(include_str!("../src/prelude.glsl"), "float ", "fm_");
    assert_eq!(single, double);
    assert!(single.is_subset(&shader), "{:?}", single.difference(&shader));
}

#[test]
fn literals_and_variables_survive_translation() {
    assert_eq!(UnaryId::GeluQuick.glsl().value, "x*fm_sigmoid(1.702*x)");
    assert_eq!(UnaryId::Cos.glsl().slope, "-fm_sin(x)");
    assert_eq!(UnaryId::Scale.glsl().value, "p0*x+p1");
    assert_eq!(BinaryId::Div.glsl().by_b, "-y/b");
}

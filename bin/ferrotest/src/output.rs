// SPDX-License-Identifier: Apache-2.0
//! Reports of a run, and conditions on it.

use std::path::Path;

use measure::Results;
use measure::assert::Assert;
use measure::report::{self, Table};

use crate::cli::Outputs;
use crate::run::refuse_overwriting;

fn conditions(outputs: &Outputs) -> Result<Vec<Assert>, String> {
    outputs.asserts.iter().map(|text| text.parse()).collect()
}

/// Refuses conditions that can't be read, and files that are there, before anything is measured.
/// A run that goes on writes its reports anew.
///
/// # Errors
/// The condition, and what it should be; the file.
pub fn check(outputs: &Outputs, resume: bool) -> Result<(), String> {
    conditions(outputs)?;
    let files = [&outputs.html, &outputs.markdown, &outputs.csv, &outputs.rate_csv];
    for file in files.into_iter().flatten() {
        refuse_overwriting(file, outputs.force || resume)?;
    }
    let is_full = |folder: &Path| {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.into_iter().any(|entry| entry.path().extension().is_some_and(|e| e == "svg"))
    };
    match &outputs.figures {
        Some(folder) if is_full(folder) => refuse_overwriting(folder, outputs.force || resume),
        _ => Ok(()),
    }
}

/// Checks the conditions; false if one doesn't hold. The results say which.
///
/// # Errors
/// A condition can't be read, or its unit doesn't fit.
pub fn assert(results: &mut Results, outputs: &Outputs) -> Result<bool, String> {
    let mut outcomes = Vec::new();
    for condition in conditions(outputs)? {
        outcomes.extend(condition.evaluate(results)?);
    }
    for outcome in outcomes.iter().filter(|outcome| !outcome.holds) {
        let actual = outcome.actual.map_or("no such value".into(), |value| value.to_string());
        let measurement = &outcome.measurement;
        eprintln!("ferrotest: {} doesn't hold: {actual} {measurement}", outcome.expression);
    }
    let holds = outcomes.iter().all(|outcome| outcome.holds);
    results.asserts = outcomes;
    Ok(holds)
}

fn save(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes the files. `published` are tables of other hardware.
///
/// # Errors
/// A file can't be written.
pub fn write(results: &Results, outputs: &Outputs, published: &[Table]) -> Result<(), String> {
    if let Some(path) = &outputs.html {
        save(path, &report::html(results, published)?)?;
    }
    if let Some(path) = &outputs.markdown {
        save(path, &report::markdown(results, published)?)?;
    }
    if let Some(path) = &outputs.csv {
        save(path, &report::series_csv(results))?;
    }
    if let Some(path) = &outputs.rate_csv {
        save(path, &report::rate_csv(results))?;
    }
    if let Some(folder) = &outputs.figures {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        for figure in report::figures(results)? {
            save(&folder.join(format!("{}.svg", figure.name)), &figure.to_svg())?;
        }
    }
    Ok(())
}

// SPDX-License-Identifier: Apache-2.0
//! Any text as the tester's inputs: a result document, an expression of `--assert`, and a
//! configuration of siitperf.

use measure::assert::Assert;
use measure::siitperf::Siitperf;
use measure::{Results, report};

/// One input.
pub fn run(text: &str) {
    if let Err(error) = Siitperf::parse(text) {
        assert!(!error.text.is_empty());
    }
    match text.parse::<Assert>() {
        Ok(expression) => match expression.evaluate(&Results::default()) {
            Ok(outcomes) => assert!(outcomes.iter().all(|o| !o.holds)),
            Err(error) => panic!("no result has a unit: {error}"),
        },
        Err(error) => assert!(!error.is_empty()),
    }
    if let Ok(results) = Results::from_json(text) {
        // A document that was read is printed in all forms, and read again.
        let again = Results::from_json(&results.to_json()).expect("its own form");
        assert_eq!(again.measurements.len(), results.measurements.len());
        let page = report::html(&results, &[]).expect("a report");
        assert!(page.ends_with("</html>\n"));
        report::markdown(&results, &[]).expect("a report");
        report::series_csv(&results);
        report::rate_csv(&results);
    }
}

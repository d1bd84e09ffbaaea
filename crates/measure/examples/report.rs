// SPDX-License-Identifier: Apache-2.0
//! Makes the report of a result document: `report result.json FOLDER`.

use std::path::Path;

use measure::{Results, report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, folder] = arguments.as_slice() else {
        return Err("expected two arguments: result.json FOLDER".into());
    };
    let results = Results::from_json(&std::fs::read_to_string(input)?)?;
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("report.html"), report::html(&results, &[])?)?;
    std::fs::write(folder.join("report.md"), report::markdown(&results, &[])?)?;
    std::fs::write(folder.join("series.csv"), report::series_csv(&results))?;
    std::fs::write(folder.join("rate.csv"), report::rate_csv(&results))?;
    for figure in report::figures(&results)? {
        std::fs::write(folder.join(format!("{}.svg", figure.name)), figure.to_svg())?;
        #[cfg(feature = "png")]
        {
            let png = figure.to_png(&report::Fonts::load()?)?;
            std::fs::write(folder.join(format!("{}.png", figure.name)), png)?;
        }
    }
    Ok(())
}

// SPDX-License-Identifier: Apache-2.0
//! Any text as startup.conf and as arguments: a configuration, or an error with its place.

use daemon::config::Config;
use startup::Source;

/// One input.
pub fn run(text: &str) {
    for source in
        [Source::file("f", text), Source::arguments(1, &text.split(' ').collect::<Vec<_>>())]
    {
        match Config::parse(&source) {
            // The printed configuration parses to the same configuration.
            Ok(config) => {
                let shown = config.to_string();
                let again = Config::parse(&Source::file("shown", shown.as_str()));
                assert_eq!(again.map(|c| c.to_string()), Ok(shown));
            }
            Err(error) => assert!(!error.place.is_empty() && !error.to_string().is_empty()),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A test that can't run is counted, and fails in CI.

use std::{
    fs::Permissions,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Command, Output},
};

use testkit::{Lack, lab};

#[suite::test]
#[ignore = "helper: the processes of the tests below"]
fn skips() {
    testkit::skip("no such\nthing");
}

#[suite::test]
#[ignore = "helper: the processes of the tests below"]
fn skips_what_nobody_can_install() {
    testkit::skip_lacking(Lack::HugePages);
}

#[suite::test]
#[ignore = "helper: the processes of the tests below"]
fn has_a_lab() {
    let Some(_) = lab::require(&["root"]) else { return };
}

/// Runs one of these in a process of its own, as the test runner does; also gives what it wrote
/// into the file of skips. `user` is whom it runs as.
fn run(test: &str, ci: bool, user: Option<u32>) -> (Output, String) {
    // Where any user can reach it.
    let dir = tempfile::tempdir().unwrap();
    let (program, skips) = (dir.path().join("kit"), dir.path().join("skips"));
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::write(&skips, "").unwrap();
    for (path, mode) in [(dir.path(), 0o755), (&skips, 0o666)] {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let mut command = Command::new(program);
    command.args(["--exact", &suite::name!(test), "--ignored"]).current_dir("/");
    command
        .env("NEXTEST_BINARY_ID", "kit")
        .env("NEXTEST_TEST_NAME", test)
        .env("FERROVIA_SKIPS", &skips);
    command.env_remove("CI").env_remove("FERROVIA_ALLOW_SKIP");
    command.envs(ci.then_some(("CI", "true")));
    user.map(|user| command.uid(user));
    (command.output().unwrap(), std::fs::read_to_string(&skips).unwrap())
}

#[suite::test]
fn a_skip_is_noted_and_passes() {
    let (output, skips) = run("skips", false, None);
    assert!(output.status.success());
    assert_eq!(skips, "SKIPPED kit skips: no such | thing\n");
}

#[suite::test]
fn a_skip_fails_in_ci() {
    let (output, skips) = run("skips", true, None);
    assert_eq!((output.status.success(), skips.as_str()), (false, ""));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("with CI set, every test has to run"), "{text}");
}

#[suite::test]
fn what_nobody_can_install_is_skipped_in_ci() {
    let (output, skips) = run("skips_what_nobody_can_install", true, None);
    assert!(output.status.success());
    assert_eq!(skips, "SKIPPED kit skips_what_nobody_can_install: this kernel has no huge pages\n");
}

#[suite::test]
fn a_laboratory_without_rights_fails_in_ci() {
    let nobody = rustix::process::geteuid().is_root().then_some(65_534);
    let (output, skips) = run("has_a_lab", false, nobody);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(skips, "SKIPPED kit has_a_lab: not root\n");
    let (output, skips) = run("has_a_lab", true, nobody);
    assert_eq!((output.status.success(), skips.as_str()), (false, ""), "{output:?}");
}

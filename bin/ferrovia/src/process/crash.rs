// SPDX-License-Identifier: Apache-2.0
//! The crash report of a thread that panics. The process can't continue after that: it aborts, with
//! a core dump where the limits allow one.

use std::backtrace::Backtrace;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

/// Writes what the panicking thread was doing: node, frame, last trace. It runs inside the panic
/// hook of that thread: it has to read its own thread's state only, take no lock that the thread
/// may hold, and not panic.
pub type CrashContext = fn(&mut dyn Write);

static CONTEXT: OnceLock<CrashContext> = OnceLock::new();

/// Registers the one function that adds to crash reports. Later calls change nothing and return
/// false.
pub fn set_crash_context(context: CrashContext) -> bool {
    CONTEXT.set(context).is_ok()
}

/// Installs the panic hook: a report to standard error and to the log file, then abort.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        crate::server::restore();
        // Piece by piece, so that a fault in a later piece doesn't take the earlier ones along.
        emit(&header(info));
        if let Some(context) = CONTEXT.get() {
            let mut text = Vec::new();
            context(&mut text);
            emit(&text);
        }
        emit(format!("{}\n", Backtrace::force_capture()).as_bytes());
        std::process::abort();
    }));
}

fn header(info: &PanicHookInfo) -> Vec<u8> {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let message = info.payload_as_str().unwrap_or("(no message)");
    let place = info.location().map(|l| l.to_string()).unwrap_or_default();
    let version = crate::build::line();
    format!("{version}: thread {name} panicked at {place}: {message}\n").into_bytes()
}

fn emit(text: &[u8]) {
    let _ = std::io::stderr().write_all(text);
    crate::logging::emergency(text);
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    const CHILD: &str = "FERROVIA_TEST_CRASH";

    #[suite::test]
    fn a_panic_ends_the_process_with_a_report() {
        if std::env::var_os(CHILD).is_some() {
            let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
            rustix::process::setrlimit(rustix::process::Resource::Core, none).unwrap();
            assert!(set_crash_context(|out| drop(writeln!(out, "node ip4-lookup, frame of 3"))));
            assert!(!set_crash_context(|_| {}));
            install();
            let thread = std::thread::Builder::new().name("worker 7".into());
            let _ = thread.spawn(|| panic!("the reason")).map(|t| t.join());
            unreachable!("the process has ended");
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            &suite::name!("a_panic_ends_the_process_with_a_report"),
            "--nocapture",
        ]);
        let output = child.env(CHILD, "1").output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGABRT));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("thread worker 7 panicked at"), "{text}");
        assert!(
            text.contains("crash.rs")
                && text.contains(": the reason\nnode ip4-lookup, frame of 3\n"),
            "{text}"
        );
    }
}

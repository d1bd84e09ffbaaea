// SPDX-License-Identifier: Apache-2.0
//! Network namespaces of the host (network_namespaces(7)).

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
    thread,
};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// A network namespace, kept alive by an open descriptor.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// Opens a namespace by name (as `ip netns` lists it), by path (anything with a `/`) or by the
    /// process id of a process in it (all digits, unless there is a namespace of this name).
    pub fn open(what: &str) -> io::Result<Self> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("network namespace {what}: {error}"))
        };
        if what.contains('/') {
            return File::open(what).map(Self).map_err(named);
        }
        match File::open(format!("/run/netns/{what}")) {
            Ok(file) => Ok(Self(file)),
            Err(_) if what.parse::<u32>().is_ok() => {
                File::open(format!("/proc/{what}/ns/net")).map(Self).map_err(named)
            }
            Err(error) => Err(named(error)),
        }
    }

    /// Creates a namespace without a name, with a loopback interface that is down. It ends with the
    /// last descriptor and process that refer to it. Needs CAP_SYS_ADMIN.
    pub fn create() -> io::Result<Self> {
        // Its own thread, as in `run`. `unshare` is deprecated because some of its flags let a
        // thread of safe code lose its descriptors or its address space; a network
        // namespace takes away neither.
        let unshared = || {
            #[expect(deprecated)]
            rustix::thread::unshare(UnshareFlags::NEWNET)?;
            Self::current()
        };
        thread::scope(|scope| scope.spawn(unshared).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The namespace of the calling thread.
    pub fn current() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/net").map(Self)
    }

    /// Runs `f` inside the namespace, on a thread of its own, and waits for it. Sockets and tun
    /// devices that `f` opens belong to the namespace for as long as they live, whichever
    /// thread uses them. Needs CAP_SYS_ADMIN.
    pub fn run<T: Send>(&self, f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        // Namespaces are a property of a thread: one that ends with the work can't be left in the
        // wrong one.
        let enter = || {
            move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?;
            f()
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("netns".into()).spawn_scoped(scope, enter)?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn names_what_it_didnt_find() {
        let error = Namespace::open("no-such-namespace").unwrap_err();
        assert!(error.to_string().contains("no-such-namespace"), "{error}");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(Namespace::open("/no/such/path").is_err());
    }

    #[suite::test]
    fn opens_by_process() {
        Namespace::open(&std::process::id().to_string()).unwrap();
        Namespace::current().unwrap();
    }
}

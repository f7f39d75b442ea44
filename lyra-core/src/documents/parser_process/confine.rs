//! The restrictions that a child sets on itself before it reads anything.

#[cfg(unix)]
pub(super) use unix::{limit, limit_processor, own_output};

#[cfg(not(unix))]
pub(super) use elsewhere::{limit, limit_processor, own_output};

#[cfg(unix)]
mod unix {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use rustix::time::{ClockId, clock_gettime};
    use std::fs::File;
    use std::io::{self, Read, Seek, SeekFrom};
    use std::os::fd::{AsRawFd, RawFd};

    /// Address space allowed in addition to the data: allocators and stacks reserve more than they
    /// use.
    const RESERVED: u64 = 1024 * 1024 * 1024;

    /// Reserves standard output for frames: other output is discarded. Every other file is closed.
    pub(in super::super) fn own_output() -> io::Result<File> {
        let frames = File::from(rustix::io::dup(io::stdout())?);
        rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
        close_all_but(frames.as_raw_fd());
        Ok(frames)
    }

    /// Files that the parent inherited are inherited by its children, too.
    #[allow(unsafe_code, reason = "files that have no owner here are closed")]
    fn close_all_but(kept: RawFd) {
        let Ok(open) = std::fs::read_dir("/dev/fd") else {
            return;
        };
        let number = |entry: io::Result<std::fs::DirEntry>| -> Option<RawFd> {
            entry.ok()?.file_name().to_str()?.parse().ok()
        };
        let open: Vec<RawFd> = open.filter_map(number).collect();
        for file in open {
            // The folder that was listed is among them, and already closed.
            let is_open = std::fs::symlink_metadata(format!("/dev/fd/{file}")).is_ok();
            if file > 2 && file != kept && is_open {
                // SAFETY: the process has just begun and runs this thread alone; nothing in it owns
                // a file but `kept` and the standard ones.
                unsafe { rustix::io::close(file) };
            }
        }
    }

    /// Caps memory and forbids files: none can be opened or written, and a crash leaves no core
    /// dump.
    pub(in super::super) fn limit(memory: u64) -> io::Result<Gauge> {
        let gauge = Gauge(File::open("/proc/self/status").ok());
        // If the system does not report the usage, no sensible limit can be set.
        if let (Some(data), Some(space)) = (gauge.read("VmData:"), gauge.read("VmSize:")) {
            set(Resource::Data, data.saturating_add(memory))?;
            set(Resource::As, space.saturating_add(memory + RESERVED))?;
        }
        set(Resource::Core, 0)?;
        set(Resource::Fsize, 0)?;
        set(Resource::Nofile, 0)?;
        Ok(gauge)
    }

    /// Limits a document to this many seconds of processor time from now on.
    pub(in super::super) fn limit_processor(seconds: u64) {
        let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
        let used = u64::try_from(used).unwrap_or(0);
        let maximum = getrlimit(Resource::Cpu).maximum;
        let until = used.saturating_add(seconds).saturating_add(1);
        let current = Some(maximum.map_or(until, |most| most.min(until)));
        // If this fails, the parent still measures the time.
        let _ = setrlimit(Resource::Cpu, Rlimit { current, maximum });
    }

    /// The memory usage that the system reports for this process. It is open from the start, since
    /// no file can be opened later.
    #[derive(Debug)]
    pub(in super::super) struct Gauge(Option<File>);

    impl Gauge {
        /// Bytes of writable memory that the process itself uses, if known.
        pub(in super::super) fn data_bytes(&self) -> Option<u64> {
            self.read("VmData:")
        }

        fn read(&self, name: &str) -> Option<u64> {
            let mut file = self.0.as_ref()?;
            let mut status = String::new();
            file.seek(SeekFrom::Start(0)).ok()?;
            file.read_to_string(&mut status).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
            Some(kilobytes * 1024)
        }
    }

    fn set(resource: Resource, most: u64) -> io::Result<()> {
        let before = getrlimit(resource).maximum;
        let most = before.map_or(most, |before| before.min(most));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        Ok(setrlimit(resource, limit)?)
    }
}

/// The only limit here is the time that the parent measures.
#[cfg(not(unix))]
mod elsewhere {
    use std::io;

    pub(in super::super) fn own_output() -> io::Result<io::Stdout> {
        Ok(io::stdout())
    }

    pub(in super::super) fn limit(_: u64) -> io::Result<Gauge> {
        Ok(Gauge)
    }

    pub(in super::super) fn limit_processor(_: u64) {}

    #[derive(Debug)]
    pub(in super::super) struct Gauge;

    impl Gauge {
        pub(in super::super) fn data_bytes(&self) -> Option<u64> {
            None
        }
    }
}

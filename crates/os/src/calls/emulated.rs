//! Contents of the files that the kernel emulates (`/proc` and the like).

use crate::{
    errno::Errno,
    files::{Emulated, Kind, OPENCL, OpenFile, flag},
    memory::Backing,
    process::{PID, Process},
};
use std::fmt::Write;

impl Process {
    pub(super) fn open_emulated(&mut self, path: String, file: Emulated, flags: u32) -> Result<OpenFile, Errno> {
        let kind = match file {
            Emulated::Null => Kind::Null,
            Emulated::Zero => Kind::Zero,
            Emulated::Random => Kind::Random,
            Emulated::Standard(stream) => Kind::Stream(stream),
            _ if flags & flag::ACCESS != 0 => return Err(Errno::EACCES),
            Emulated::Program => Kind::Text(self.files.program.1.clone()),
            Emulated::Maps => Kind::Text(self.maps().into_bytes().into()),
            Emulated::Status => Kind::Text(self.status().into_bytes().into()),
            Emulated::Statistics => Kind::Text(self.statistics().into_bytes().into()),
            Emulated::CommandLine => Kind::Text(self.command_line.clone().into()),
            Emulated::CpuInfo => Kind::Text(self.cpu_info().into_bytes().into()),
            Emulated::MemInfo => Kind::Text(self.mem_info().into_bytes().into()),
            Emulated::CpuRange => Kind::Text(self.cpu_range().into_bytes().into()),
            Emulated::OpenCl => Kind::Text(OPENCL.into()),
            Emulated::Overcommit => Kind::Text(b"0\n"[..].into()),
        };
        Ok(OpenFile::new(kind, flags, path))
    }

    fn maps(&self) -> String {
        let mut text = String::new();
        let program = String::from_utf8_lossy(&self.files.program.0);
        for (start, area) in self.space.areas().iter() {
            let (offset, inode, name) = match &area.backing {
                Backing::Zeros("program") => (0, 9, &*program),
                Backing::Zeros(name) => (0, 0, *name),
                Backing::File { file, offset } => (*offset, 10, file.path()),
            };
            let shared = if area.shared { 's' } else { 'p' };
            let line = format!("{start:08x}-{:08x} {}{shared} {offset:08x} 00:01 {inode}", area.end, area.rights);
            let _ = if name.is_empty() { writeln!(text, "{line} ") } else { writeln!(text, "{line:<73}{name}") };
        }
        text
    }

    fn name(&self) -> String {
        let path = String::from_utf8_lossy(&self.files.program.0);
        path.rsplit('/').next().unwrap_or(&path).chars().take(15).collect()
    }

    fn status(&self) -> String {
        let used = self.space.used().0 / 1024;
        let size: u64 = self.space.areas().iter().map(|(start, area)| area.end - start).sum();
        format!(
            "Name:\t{}\nState:\tR (running)\nTgid:\t{PID}\nPid:\t{PID}\nPPid:\t1\nTracerPid:\t0\nUid:\t1000\t1000\t1000\t1000\n\
             Gid:\t1000\t1000\t1000\t1000\nVmPeak:\t{1:8} kB\nVmSize:\t{1:8} kB\nVmHWM:\t{used:8} kB\nVmRSS:\t{used:8} kB\n\
             Threads:\t{2}\nCpus_allowed_list:\t{3}",
            self.name(),
            size / 1024,
            self.threads.len(),
            self.cpu_range()
        )
    }

    fn statistics(&self) -> String {
        let ticks = self.clock.instructions() / 10_000_000;
        let size: u64 = self.space.areas().iter().map(|(start, area)| area.end - start).sum();
        let pages = self.space.used().0 / crate::memory::PAGE;
        format!(
            "{PID} ({}) R 1 {PID} {PID} 0 -1 0 {} 0 0 0 {ticks} 0 0 0 20 0 {} 0 0 {size} {pages} {} 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 \
             0 0 0 0 0 0 0 0 0 0\n",
            self.name(),
            self.space.faults(),
            self.threads.len(),
            u64::MAX
        )
    }

    fn cpu_info(&self) -> String {
        let mut text = String::new();
        for cpu in 0..self.cpus {
            let _ = write!(
                text,
                "processor\t: {cpu}\nvendor_id\t: cohesim\ncpu family\t: 6\nmodel\t\t: 15\nmodel name\t: cohesim x86-64\n\
                 stepping\t: 0\ncpu MHz\t\t: 1000.000\ncache size\t: 1024 KB\nphysical id\t: 0\nsiblings\t: {0}\n\
                 core id\t\t: {cpu}\ncpu cores\t: {0}\nflags\t\t: fpu tsc cx8 cmov mmx fxsr sse sse2 syscall nx lm\n\n",
                self.cpus
            );
        }
        text
    }

    fn mem_info(&self) -> String {
        let total = self.space.limit().0 / 1024;
        let free = total - self.space.used().0 / 1024;
        format!(
            "MemTotal:       {total:8} kB\nMemFree:        {free:8} kB\nMemAvailable:   {free:8} kB\nSwapTotal:             0 kB\n"
        )
    }

    fn cpu_range(&self) -> String {
        match self.cpus {
            1 => "0\n".into(),
            cpus => format!("0-{}\n", cpus - 1),
        }
    }
}

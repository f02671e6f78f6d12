//! Runs a command with limits on its time.

use std::{
    fs,
    io::{Read, Seek},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The end of a command, and its output.
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// A summary in a few lines.
    pub fn told(&self) -> String {
        let code = self.code.map_or_else(|| "killed".to_owned(), |code| format!("exit code {code}"));
        let last = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(12)..].join("\n")
        };
        format!("{code}\n{}\n{}", last(&self.out), last(&self.err))
    }
}

/// Runs a command to its end, or kills it when it exceeds the limit of processor time or wall time.
pub fn run(command: &mut Command, cpu: Duration, wall: Duration) -> Result<Ended, String> {
    let name = format!("{:?}", command.get_program());
    let failed = |error: std::io::Error| format!("{name} can't be run: {error}");
    // Output goes to files, so nothing has to be read while the command runs.
    let files = || -> std::io::Result<fs::File> {
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cohesim-output-{}-{number}", std::process::id()));
        let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    };
    let (mut out, mut err) = (files().map_err(failed)?, files().map_err(failed)?);
    let clone = |file: &fs::File| file.try_clone().map(Stdio::from);
    command.stdin(Stdio::null()).stdout(clone(&out).map_err(failed)?).stderr(clone(&err).map_err(failed)?);
    let mut child = command.spawn().map_err(failed)?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        let used = cpu_time(child.id());
        if used > cpu || start.elapsed() > wall {
            let _ = child.kill();
            let _ = child.wait();
            let (used, passed) = (used.as_secs(), start.elapsed().as_secs());
            return Err(format!("it hangs: {used} s of processor time, {passed} s in all"));
        }
        thread::sleep(Duration::from_millis(if start.elapsed() < Duration::from_secs(1) { 5 } else { 50 }));
    };
    let text = |file: &mut fs::File| -> std::io::Result<String> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(4 << 20).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (out, err) = (text(&mut out).map_err(failed)?, text(&mut err).map_err(failed)?);
    Ok(Ended { code: status.code(), out, err })
}

/// Processor time that a process has used.
pub fn cpu_time(process: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The fields after the name, which may contain blanks: user and system time are the 12th and 13th, in hundredths of
    // a second.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    Duration::from_millis(10 * fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_ended() {
        let mut command = Command::new("sleep");
        let hung = run(command.arg("60"), Duration::from_secs(60), Duration::from_millis(20));
        assert!(hung.err().expect("it sleeps for longer").contains("it hangs"));
        let mut command = Command::new("sh");
        let ended = run(command.args(["-c", "echo out; echo err >&2; exit 3"]), Duration::MAX, Duration::MAX);
        let ended = ended.expect("it ends by itself");
        assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(3), "out\n", "err\n"));
    }
}

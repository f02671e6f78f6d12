//! A sweep on a real Slurm: two nodes on this computer, with a controller and an authentication of their own.
//!
//! The sweep is disturbed in the ways that occur in practice: a task is killed, the controller is killed and restarted,
//! the whole sweep is cancelled and resumed. At the end no run must have been executed twice, and the table must equal
//! that of a sweep without Slurm.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const SWEEP: &str = "\
programs = [\"vecadd\", \"fir\", \"relu\"]
systems = [\"skeleton\", \"r9nano\"]
[set]
\"gpu.l2.size\" = [\"256 KiB\", \"512 KiB\"]
[arguments]
\"--size\" = [1024, 2048, 3072, 4096, 5120]
[slurm]
partition = \"short\"
time = \"00:10:00\"
";
const RUNS: usize = 60;
const PATIENCE: Duration = Duration::from_secs(600);

pub fn run(arguments: &[String]) -> Result<String, String> {
    let cohesim = match arguments {
        [] => PathBuf::from("target/release/cohesim"),
        [option, path] if option == "--cohesim" => PathBuf::from(path),
        _ => return Err("Usage: cargo xtask slurm [--cohesim PATH]".into()),
    };
    let cohesim = cohesim.canonicalize().map_err(|error| format!("{}: {error}", cohesim.display()))?;
    for program in ["munged", "slurmctld", "slurmd", "sbatch"] {
        let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.map_err(|_| format!("'{program}' is not here: apt-get install slurmctld slurmd slurm-client munge"))?;
    }
    let folder = std::env::temp_dir().join(format!("cohesim-slurm-{}", std::process::id()));
    let cluster = Cluster::start(folder)?;
    let sweep = Sweep { cohesim: &cohesim, cluster: &cluster };
    let result = sweep.check();
    if let Err(error) = &result {
        eprintln!("{error}\nits files are in {}", cluster.folder.display());
    } else {
        _ = fs::remove_dir_all(&cluster.folder);
    }
    result
}

/// A Slurm of two nodes, until it is dropped.
struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    fn start(folder: PathBuf) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder.join("state")).map_err(told)?;
        let mut key = [0; 128];
        let mut random = fs::File::open("/dev/urandom").map_err(told)?;
        std::io::Read::read_exact(&mut random, &mut key).map_err(told)?;
        let mut options = fs::File::options();
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.write(true).create_new(true).open(folder.join("munge.key"));
        file.and_then(|mut file| file.write_all(&key)).map_err(told)?;
        let host = fs::read_to_string("/proc/sys/kernel/hostname").map_err(told)?;
        let (host, at) = (host.trim(), folder.display());
        // Ports that are not those of a Slurm that may run here.
        let configuration = format!(
            "ClusterName=cohesim\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort=26817\nAuthType=auth/munge\n\
             AuthInfo=socket={at}/munge.socket\nSlurmUser=root\nSlurmdUser=root\nStateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/spool-%n\nSlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/slurmd-%n.pid\n\
             SlurmctldLogFile={at}/slurmctld.log\nSlurmdLogFile={at}/slurmd-%n.log\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\nSlurmdTimeout=20\nMpiDefault=none\n\
             SchedulerParameters=sched_interval=2\nKillWait=2\n\
             NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[27001-27002] CPUs=1 RealMemory=2048 State=UNKNOWN\n\
             PartitionName=short Nodes=n[1-2] Default=YES MaxTime=60 State=UP\n"
        );
        fs::write(folder.join("slurm.conf"), configuration).map_err(told)?;
        let cluster = Self { folder };
        let at = |name: &str| cluster.folder.join(name).display().to_string();
        let munge = [
            ("key-file", "munge.key"),
            ("socket", "munge.socket"),
            ("pid-file", "munge.pid"),
            ("log-file", "munge.log"),
            ("seed-file", "munge.seed"),
        ];
        let munge = munge.iter().map(|(option, name)| format!("--{option}={}", at(name)));
        cluster.order("munged", std::iter::once("--force".to_owned()).chain(munge))?;
        cluster.controller()?;
        for node in ["n1", "n2"] {
            cluster.order("slurmd", ["-N".to_owned(), node.to_owned()])?;
        }
        cluster.until("both nodes are idle", || {
            cluster
                .order("sinfo", ["-h".into(), "-N".into(), "-o".into(), "%t".into()])
                .is_ok_and(|states| states.lines().filter(|state| *state == "idle").count() == 2)
        })?;
        Ok(cluster)
    }

    fn controller(&self) -> Result<(), String> {
        self.order("slurmctld", []).map(drop)
    }

    fn order(&self, program: &str, arguments: impl IntoIterator<Item = String>) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.folder.join("slurm.conf"));
        let done = command.output().map_err(|error| format!("{program}: {error}"))?;
        match done.status.success() {
            true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            false => Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim())),
        }
    }

    fn until(&self, what: &str, is: impl Fn() -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while !is() {
            if begun.elapsed() > PATIENCE {
                return Err(format!("timed out before {what}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn is_idle(&self) -> bool {
        self.order("squeue", ["-h".to_owned()]).is_ok_and(|jobs| jobs.trim().is_empty())
    }

    /// Ends a process that the cluster has started, whose number is in a file.
    fn kill(&self, file: &str, signal: &str) {
        let number = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        if let Ok(number) = number.trim().parse::<u32>() {
            _ = Command::new("kill").args([signal, &number.to_string()]).status();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for file in ["slurmd-n1.pid", "slurmd-n2.pid", "slurmctld.pid", "munge.pid"] {
            self.kill(file, "-TERM");
        }
    }
}

struct Sweep<'a> {
    cohesim: &'a Path,
    cluster: &'a Cluster,
}

impl Sweep<'_> {
    fn order(&self, words: &[&str], store: &str) -> Result<String, String> {
        let folder = &self.cluster.folder;
        let mut command = Command::new(self.cohesim);
        command.arg("sweep").args(words).arg("--store").arg(folder.join(store));
        command.current_dir(folder).env("SLURM_CONF", folder.join("slurm.conf"));
        let done = command.output().map_err(|error| format!("cohesim: {error}"))?;
        match done.status.success() {
            true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            false => Err(format!("sweep {}: {}", words.join(" "), String::from_utf8_lossy(&done.stderr).trim())),
        }
    }

    fn done(&self, store: &str) -> usize {
        fs::read_dir(self.cluster.folder.join(store).join("runs")).map_or(0, Iterator::count)
    }

    fn table(&self, store: &str) -> Result<String, String> {
        let out = format!("{store}-table");
        self.order(&["collect", "sweep.toml", "--out", &out], store)?;
        fs::read_to_string(self.cluster.folder.join(out).join("runs.csv")).map_err(|error| error.to_string())
    }

    fn check(&self) -> Result<String, String> {
        let (cluster, folder) = (self.cluster, &self.cluster.folder);
        fs::write(folder.join("sweep.toml"), SWEEP).map_err(|error| error.to_string())?;
        self.order(&["sweep.toml", "--jobs", "1"], "here")?;
        let expected = self.table("here")?;

        println!("{RUNS} runs are submitted");
        self.order(&["sweep.toml", "--slurm"], "slurm")?;
        cluster.until("a third is done", || self.done("slurm") >= RUNS / 3)?;
        println!("a task is killed after {} runs", self.done("slurm"));
        let killed = std::cell::Cell::new(false);
        cluster.until("a task runs", || {
            let claim = fs::read_dir(folder.join("slurm/claims")).ok().and_then(|mut claims| claims.next()?.ok());
            let owner = claim.and_then(|claim| fs::read_to_string(claim.path()).ok());
            let number = owner.as_deref().and_then(|owner| owner.rsplit('.').next()?.parse::<u32>().ok());
            if let Some(number) = number {
                let status = Command::new("kill").args(["-KILL", &number.to_string()]).stderr(Stdio::null()).status();
                killed.set(status.is_ok_and(|status| status.success()));
            }
            killed.get()
        })?;
        cluster.until("half is done", || self.done("slurm") >= RUNS / 2)?;
        println!("the controller is killed after {} runs, and started again", self.done("slurm"));
        cluster.kill("slurmctld.pid", "-KILL");
        thread::sleep(Duration::from_secs(2));
        cluster.controller()?;
        // The controller's last saved state is older than the nodes' progress; it would query them only after some
        // minutes.
        cluster.until("nodes tell the controller what they have done", || {
            cluster.order("scontrol", ["reconfigure".to_owned()]).is_ok()
        })?;
        cluster.until("most of it is done", || self.done("slurm") >= RUNS * 3 / 4)?;
        println!("it is cancelled after {} runs", self.done("slurm"));
        self.order(&["cancel", "sweep.toml"], "slurm")?;
        cluster.until("no job is left", || cluster.is_idle())?;
        let left = RUNS - self.done("slurm");
        if left == 0 {
            return Err("nothing was left when it was cancelled".into());
        }
        // Claims of tasks that were killed are given up after a minute.
        thread::sleep(Duration::from_secs(65));
        println!("{left} runs are left, and gone on with");
        self.order(&["resume", "sweep.toml", "--slurm"], "slurm")?;
        cluster.until("all is done", || self.done("slurm") == RUNS && cluster.is_idle())?;

        let table = self.table("slurm")?;
        if table != expected {
            return Err("the table is not that of the sweep without Slurm".into());
        }
        let logs = fs::read_dir(folder.join("slurm/sweeps")).map_err(|error| error.to_string())?;
        let logs = logs.flatten().flat_map(|sweep| fs::read_dir(sweep.path()).into_iter().flatten().flatten());
        let said = logs.filter_map(|log| fs::read_to_string(log.path()).ok());
        let ended: usize = said.map(|text| text.matches(": done in ").count()).sum();
        match ended {
            RUNS => {
                Ok(format!("{RUNS} runs on two nodes, none of them twice; the table is that of a sweep without Slurm"))
            }
            other => Err(format!("{other} tasks say that they have done a run, of {RUNS}")),
        }
    }
}

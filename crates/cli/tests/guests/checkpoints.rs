//! `run --checkpoint` and `--restore`.

use crate::{Ran, ran, support::Folder};
use std::{fs, process::Command};

fn cohesim(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    command.args(arguments);
    command
}

/// Runs a workload with four kernels.
fn kmeans(options: &[&str]) -> (Option<i32>, String) {
    let arguments = [&["run", "kmeans", "--system", "skeleton"], options, &["--", "--size", "tiny"]].concat();
    let output = cohesim(&arguments).output().expect("the command was built");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "│").collect();
    (output.status.code(), words.join(" "))
}

#[test]
fn a_restored_run_writes_the_files_of_the_run_that_wrote_the_checkpoint() {
    let folder = Folder::new("restored");
    let (file, whole, rest) = (folder.file("four"), folder.file("whole"), folder.file("rest"));
    let (code, said) = kmeans(&["--checkpoint", &format!("kernel:4={file}"), "--out", &whole]);
    assert!(code == Some(0) && said.contains("drained before kernel 4"), "{said}");
    let (code, said) = kmeans(&["--restore", &file, "--out", &rest]);
    assert!(code == Some(0) && said.contains("drained before kernel 4"), "{said}");
    for name in ["stats.json", "stats.csv", "summary.json", "machine.toml"] {
        let [whole, rest] = [&whole, &rest].map(|folder| fs::read(format!("{folder}/{name}")).expect("it was written"));
        assert!(whole == rest, "{name} differs");
    }
    let identity = |folder: &str| {
        let run: serde_json::Value = serde_json::from_slice(&fs::read(format!("{folder}/run.json")).unwrap()).unwrap();
        (run["identity"].clone(), run["drained"].clone())
    };
    assert_eq!(identity(&whole), identity(&rest));
    assert_eq!(identity(&whole).1["drained"], serde_json::json!([4]));
    let Ran { out, .. } =
        ran(&mut cohesim(&["run", "kmeans", "--system", "skeleton", "--json", "--", "--size", "tiny"]));
    let plain: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(plain.get("drained").is_none(), "{out}");
}

#[test]
fn what_is_no_checkpoint_of_this_run_is_refused_with_the_reason() {
    let folder = Folder::new("refused-checkpoints");
    let file = folder.file("two");
    let (code, said) = kmeans(&["--checkpoint", &format!("kernel:2={file}"), "--checkpoint", "kernel:9999=no"]);
    assert!(code == Some(0) && said.contains("'no' was not written: the program ended before kernel 9999"), "{said}");
    let bytes = fs::read(&file).unwrap();
    let changed = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let (path, mut bytes) = (folder.file(name), bytes.clone());
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        path
    };
    let cut = changed("cut", &|bytes| bytes.truncate(bytes.len() / 2));
    let flipped = changed("flipped", &|bytes| *bytes.last_mut().unwrap() ^= 1);
    let older = changed("older", &|bytes| bytes[19] = b'0');
    let other = changed("other", &|bytes| {
        let at = bytes.iter().position(|byte| *byte == b'.').unwrap();
        bytes[at - 1] = b'9';
    });
    for (options, message) in [
        (&["--restore", &cut][..], "is damaged: it should have"),
        (&["--restore", &flipped], "is damaged: its bytes"),
        (&["--restore", &older], "has format 0, but this build of cohesim reads format 1"),
        (&["--restore", &other], "was written by another build of cohesim (version 9."),
        (&["--restore", "/no/such/file"], "can't be read"),
        (&["--restore", "/dev/null"], "is not a checkpoint"),
        (&["--restore", &file, "--set", "gpu.l2.size=1MiB"], "with other keys"),
        (&["--restore", &file, "--cpus", "7"], "a different program, or with different arguments or options"),
        (&["--restore", &file, "--fast-forward", "kernel:3"], "cannot be used with"),
        (&["--cold"], "--restore"),
        (&["--checkpoint", "kernel:3"], "write kernel:N=FILE"),
        (&["--checkpoint", "roi=file"], "checkpoints are made before kernels"),
        (&["--checkpoint", "kernel:3=a", "--checkpoint", "kernel:3=b"], "kernel:3 is given twice"),
    ] {
        let (code, said) = kmeans(options);
        assert!(code != Some(0) && said.contains(message), "{options:?}: {said}");
    }
    let (code, said) = kmeans(&["--restore", &file, "--cold", "--set", "gpu.l2.size=1MiB"]);
    assert!(code == Some(0) && said.contains("on skeleton, is not counted"), "{said}");
}

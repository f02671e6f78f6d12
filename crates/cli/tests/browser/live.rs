//! `cohesim run --live` and `cohesim sweep --live`: the pages of work in progress can pause and stop it.

use crate::{
    TOO_WIDE, folder,
    webdriver::{Browser, available, http},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A run of minutes, unless it is stopped.
const LONG: &str = "run matmul --system r9nano --live 0 --json -- --size 1024 --no-check";

/// Work in progress, and the port of its page.
fn start(arguments: &str) -> (Child, BufReader<impl Read + use<>>, u16) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    command.args(arguments.split_whitespace());
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cohesim starts");
    let mut told = BufReader::new(run.stderr.take().expect("it is piped"));
    let mut line = String::new();
    told.read_line(&mut line).expect("it says where it is shown");
    let port = line.split_once("127.0.0.1:").and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
    (run, told, port.unwrap_or_else(|| panic!("there is no address in '{line}'")))
}

fn state(port: u16) -> Value {
    let (status, text) = http(port, "GET", "/api/live", &[], None);
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn a_run_in_progress_is_shown_paused_and_stopped() {
    if !available() {
        return;
    }
    let (mut run, mut told, port) = start(LONG);
    let browser = Browser::start();
    browser.resize(640);
    browser.open(&format!("http://127.0.0.1:{port}/"));
    browser.until("document.querySelectorAll('#levels tr').length > 0");
    assert_eq!(browser.script(TOO_WIDE), json!([]));
    browser.script("document.getElementById('pause').click();");
    browser.until("document.getElementById('state').textContent.startsWith('Paused')");
    // Threads come to their next round; from then on time stands still.
    thread::sleep(Duration::from_millis(200));
    let paused = state(port);
    assert_eq!((&paused["paused"], &state(port)["time_fs"]), (&json!(true), &paused["time_fs"]));
    let (status, _) = http(port, "POST", "/api/live/stop", &[("Origin", "http://elsewhere.example")], None);
    assert_eq!(status, 403);
    browser.script("document.getElementById('resume').click();");
    browser.until("document.getElementById('state').textContent.startsWith('Running')");
    assert_eq!(browser.errors(), Vec::<String>::new());
    browser.script("document.getElementById('stop').click();");
    let mut text = String::new();
    run.stdout.take().expect("it is piped").read_to_string(&mut text).expect("it is text");
    _ = told.read_to_string(&mut String::new());
    run.wait().expect("the run ends");
    let report: Value = serde_json::from_str(&text).expect("what was measured until then is kept");
    assert_eq!(report["end"], "interrupted");
}

#[test]
fn a_sweep_in_progress_leads_to_its_runs_and_pauses_and_stops_them() {
    if !available() {
        return;
    }
    let folder = folder("sweep");
    let sweep = "programs = ['matmul']\nsystems = ['skeleton', 'r9nano']\n[arguments]\n'--no-check' = true\n'--size' = [16, 1024]\n";
    fs::write(folder.join("sizes.toml"), sweep).expect("the folder can be written");
    let (file, store) = (folder.join("sizes.toml"), folder.join("store"));
    let (mut process, mut told, port) =
        start(&format!("sweep {} --store {} --jobs 1 --live 0", file.display(), store.display()));
    let browser = Browser::start();
    browser.resize(640);
    browser.open(&format!("http://127.0.0.1:{port}/"));
    // The first run is short; the second is not.
    browser.until(
        "document.getElementById('state').textContent.includes('1 of 4 runs') && document.querySelector('#here a')",
    );
    assert_eq!(browser.script(TOO_WIDE), json!([]));
    browser.script("document.getElementById('pause').click();");
    browser.until("document.getElementById('state').textContent.startsWith('Paused')");
    let page = browser.script("return document.querySelector('#here a').href;");
    let of_run = page.as_str().and_then(|page| page.trim_end_matches('/').rsplit_once(':')?.1.parse().ok());
    let of_run = of_run.unwrap_or_else(|| panic!("the run has no page: {page}"));
    let begun = Instant::now();
    while state(of_run)["paused"] != json!(true) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run is told to pause");
        thread::sleep(Duration::from_millis(50));
    }
    browser.script("document.getElementById('resume').click();");
    browser.until("document.getElementById('state').textContent.startsWith('Running')");
    assert_eq!(browser.errors(), Vec::<String>::new());
    browser.script("document.getElementById('stop').click();");
    _ = told.read_to_string(&mut String::new());
    assert!(!process.wait().expect("the sweep ends").success(), "not all of it is done");
    let done = fs::read_dir(store.join("runs")).expect("there is a store").count();
    assert_eq!((done, fs::read_dir(store.join("claims")).expect("there is a store").count()), (1, 0));
}

//! `cohesim run --live`: the page of a run in progress can pause and stop it.

use crate::{
    TOO_WIDE,
    webdriver::{Browser, available, http},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
};

/// A run of minutes, unless it is stopped, and the port of its page.
fn start() -> (Child, BufReader<impl Read>, u16) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    command.args([
        "run",
        "matmul",
        "--system",
        "r9nano",
        "--live",
        "0",
        "--json",
        "--",
        "--size",
        "1024",
        "--no-check",
    ]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cohesim starts");
    let mut told = BufReader::new(run.stderr.take().expect("it is piped"));
    let mut line = String::new();
    told.read_line(&mut line).expect("the run says where it is shown");
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
    let (mut run, mut told, port) = start();
    let browser = Browser::start();
    browser.resize(640);
    browser.open(&format!("http://127.0.0.1:{port}/"));
    browser.until("document.querySelectorAll('#levels tr').length > 0");
    assert_eq!(browser.script(TOO_WIDE), json!([]));
    browser.script("document.getElementById('pause').click();");
    browser.until("document.getElementById('state').textContent.startsWith('Paused')");
    // Threads come to their next round; from then on time stands still.
    std::thread::sleep(std::time::Duration::from_millis(200));
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

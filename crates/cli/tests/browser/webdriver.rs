//! Drives a browser in tests: Debian's chromium by chromedriver, over the WebDriver protocol (W3C, "WebDriver").
//!
//! HTTP is implemented here: each request has its own connection.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// The browser's profile folder, removed with it.
    profile: PathBuf,
}

const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a browser is installed. With `COHESIM_REQUIRE_CHROMIUM` set, its absence fails the test.
pub fn available() -> bool {
    let found = Command::new("chromedriver").arg("--version").output().is_ok_and(|out| out.status.success());
    assert!(
        found || std::env::var_os("COHESIM_REQUIRE_CHROMIUM").is_none(),
        "chromedriver is not installed: apt-get install chromium chromium-driver"
    );
    if !found {
        eprintln!("SKIPPED: no chromedriver here (Debian: chromium chromium-driver), so pages are not looked at");
    }
    found
}

impl Browser {
    pub fn start() -> Self {
        let spawn = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut driver = spawn.expect("chromedriver starts");
        let mut lines = BufReader::new(driver.stdout.take().expect("it is piped")).lines();
        let port = lines.find_map(|line| {
            let line = line.expect("chromedriver speaks text");
            line.split_once("started successfully on port ")?.1.trim_end_matches('.').parse().ok()
        });
        let port = port.expect("chromedriver says on which port it listens");
        // Further output is useless, but must be read.
        thread::spawn(move || lines.for_each(drop));
        let profile = std::env::temp_dir().join(format!("cohesim-browser-{}-{port}", std::process::id()));
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            &format!("--user-data-dir={}", profile.display()),
            "--window-size=1280,900",
        ];
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": flags, "binary": "/usr/bin/chromium" },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let mut browser = Self { driver, port, session: String::new(), profile };
        let made = browser.ask("POST", "/session", &capabilities);
        browser.session = made["sessionId"].as_str().expect("a session has a name").to_owned();
        browser
    }

    /// Opens an address.
    pub fn open(&self, address: &str) {
        self.own("POST", "url", &json!({ "url": address }));
    }

    /// Sets the width of the window and of the page in it.
    pub fn resize(&self, width: u32) {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        let order = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": metrics });
        self.own("POST", "goog/cdp/execute", &order);
    }

    /// Sets the preferred colour scheme: dark or light.
    pub fn prefer(&self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.own("POST", "goog/cdp/execute", &json!({ "cmd": "Emulation.setEmulatedMedia", "params": features }));
    }

    /// The result of a script, which is the body of a function.
    pub fn script(&self, script: &str) -> Value {
        self.own("POST", "execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until a condition holds, given as an expression.
    pub fn until(&self, condition: &str) {
        let begun = Instant::now();
        while self.script(&format!("return !!({condition});")) != json!(true) {
            if begun.elapsed() > PATIENCE {
                let page = self.script("return document.body.innerText.slice(0, 2000);");
                panic!("'{condition}' does not come true; the page: {page}; its console: {:?}", self.errors());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Types into the focused element.
    pub fn type_keys(&self, text: &str) {
        let keys = text
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() })));
        let actions = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": keys.collect::<Vec<_>>() }] });
        self.own("POST", "actions", &actions);
    }

    /// Errors and warnings in the console since the last call.
    pub fn errors(&self) -> Vec<String> {
        let log = self.own("POST", "se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().cloned().unwrap_or_default();
        let serious = entries.into_iter().filter(|entry| matches!(entry["level"].as_str(), Some("SEVERE" | "WARNING")));
        serious.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn own(&self, method: &str, what: &str, body: &Value) -> Value {
        let slash = if what.is_empty() { "" } else { "/" };
        self.ask(method, &format!("/session/{}{slash}{what}", self.session), body)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = http(self.port, method, path, &[], Some(&body.to_string()));
        let answer: Value = serde_json::from_str(&answer).expect("chromedriver speaks JSON");
        assert_eq!(status, 200, "{method} {path}: {}", answer["value"]["message"]);
        answer["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !thread::panicking() {
            self.own("DELETE", "", &json!({}));
        }
        _ = self.driver.kill();
        _ = self.driver.wait();
        _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// Sends a request to this computer; returns the status and the body of the answer.
pub fn http(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request += &format!("Host: 127.0.0.1:{port}\r\n");
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    let body = body.unwrap_or_default();
    request +=
        &format!("Content-Type: application/json; charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).expect("the server takes requests");
    let mut answer = BufReader::new(stream);
    let mut head = String::new();
    answer.read_line(&mut head).expect("the server answers");
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("an answer has a status");
    let mut length = None;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line).expect("an answer has heads");
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        length = line.strip_prefix("content-length:").and_then(|n| n.trim().parse::<usize>().ok()).or(length);
    }
    let mut text = vec![0; length.unwrap_or(0)];
    match length {
        Some(_) => answer.read_exact(&mut text).expect("an answer is as long as it says"),
        None => _ = answer.read_to_end(&mut text).expect("an answer ends"),
    }
    (status, String::from_utf8_lossy(&text).into_owned())
}

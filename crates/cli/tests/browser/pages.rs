//! `cohesim view`: pages load without errors, charts have the data, filtering works, and foreign requests are refused.

use crate::{
    EDGE, TOO_WIDE, cohesim, folder,
    webdriver::{Browser, available, http},
};
use engine::Monitor;
use figures::{Conductor, Experiment, Job, Options, Plan, Store};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    num::NonZero,
    path::Path,
    process::{Child, Command, Stdio},
};

/// The result of a command that must succeed.
fn cohesim_json(words: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    let done = command.args(words.split_whitespace()).arg("--json").output().expect("cohesim starts");
    serde_json::from_slice(&done.stdout).expect("it is JSON")
}

/// A viewer of a folder, stopped on drop.
struct Viewer {
    process: Child,
    port: u16,
}

impl Viewer {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        command.args(["view", "--port", "0"]).arg(folder).stdout(Stdio::piped());
        let mut process = command.spawn().expect("cohesim starts");
        let mut line = String::new();
        let told = BufReader::new(process.stdout.as_mut().expect("it is piped")).read_line(&mut line);
        told.expect("the viewer says where it is");
        let port = line.split_once("127.0.0.1:").and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
        Self { process, port: port.unwrap_or_else(|| panic!("there is no address in '{line}'")) }
    }

    fn page(&self, page: &str) -> String {
        format!("http://127.0.0.1:{}/#/{page}", self.port)
    }

    fn json(&self, path: &str) -> Value {
        let (status, text) = http(self.port, "GET", path, &[], None);
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).expect("it is JSON")
    }

    /// The id in the address of the run in this folder.
    fn id(&self, name: &str) -> String {
        let runs = self.json("/api/runs");
        let run = runs["runs"].as_array().expect("runs are a list").iter().find(|run| run["name"] == name);
        run.and_then(|run| run["id"].as_str()).expect("the run is listed").to_owned()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Opens a page of the viewer and expects no error in its console.
fn look(browser: &Browser, viewer: &Viewer, page: &str) {
    // Another page in between, because a browser does not reload for a change after `#`.
    browser.open("about:blank");
    browser.open(&viewer.page(page));
    browser.until("document.body?.dataset.ready");
    assert_eq!(browser.errors(), Vec::<String>::new(), "{page}");
}

const ROWS: &str = "return document.querySelectorAll('main tbody tr').length;";

#[test]
fn runs_are_listed_filtered_shown_and_compared() {
    if !available() {
        return;
    }
    let folder = folder("view");
    cohesim(EDGE, &folder.join("edge"));
    cohesim(
        "run bfs --system multi-pcie --set gpus=2 --memory-policy managed-fault -- --size tiny",
        &folder.join("bfs"),
    );
    cohesim(
        "run bfs --system multi-pcie --set gpus=2 --memory-policy zero-copy -- --size tiny",
        &folder.join("remote"),
    );
    let (viewer, browser) = (Viewer::start(&folder), Browser::start());

    look(&browser, &viewer, "runs");
    assert_eq!(browser.script(ROWS), json!(3));
    browser.type_keys("/system=apu");
    assert_eq!(browser.script(ROWS), json!(1));
    assert_eq!(
        browser.script("return document.querySelector('main tbody tr td:nth-child(2)').innerText;"),
        json!("edge")
    );

    // One run: charts show the summary's data, and an element of the drawing shows its statistics.
    let id = viewer.id("edge");
    look(&browser, &viewer, &format!("run/{id}"));
    browser.until("document.querySelectorAll('.chart canvas').length >= 3");
    let timeline = viewer.json(&format!("/api/runs/{id}/timeline"));
    assert_eq!(
        browser.script("return document.querySelectorAll('.chart').length;"),
        json!(timeline["curves"].as_array().map(Vec::len))
    );
    assert_eq!(
        browser.script("return document.querySelector('.lane').children.length;"),
        json!(timeline["regions"].as_array().map(Vec::len))
    );
    let elements = viewer.json(&format!("/api/runs/{id}/elements"));
    let drawn = |element: &&Value| element["kind"] != "junction" && element["kind"] != "other";
    let count = elements["elements"].as_array().map(|elements| elements.iter().filter(drawn).count());
    assert!(count.is_some_and(|count| count > 50), "the plan has cores, units, caches and memories: {count:?}");
    assert_eq!(browser.script("return document.querySelectorAll('.machine .cell').length;"), json!(count));
    browser.script("document.querySelector('.cell[data-path=\"cpu.core0\"]').click();");
    let told = browser.script("return document.querySelector('.side').innerText;");
    assert!(told.as_str().is_some_and(|told| told.contains("instructions") && told.contains("cycles.busy")), "{told}");
    browser.script(
        "[...document.querySelectorAll('.segments button')].find(button => button.innerText === 'hit rate').click();",
    );
    let hit =
        browser.script("return Number(document.querySelector('.cell[data-path=\"cpu.core0.l1d\"]').dataset.value);");
    assert!(hit.as_f64().is_some_and(|hit| hit > 0.9 && hit <= 1.0), "{hit}");
    // Each chart has its data as a table and as CSV, the drawing too.
    browser.script("[...document.querySelectorAll('figcaption button')].filter(button => button.innerText === 'Table').forEach(button => button.click());");
    assert_eq!(
        browser.script(
            "return [...document.querySelectorAll('figure')].every(figure => figure.querySelector('tbody tr'));"
        ),
        json!(true)
    );

    let saved = browser.script(
        "window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = blob => { saved.push(blob); return make(blob); };
         const buttons = [...document.querySelectorAll('figcaption button')].filter(button => button.innerText === 'CSV');
         buttons.forEach(button => button.click());
         return [buttons.length, saved.length, document.querySelectorAll('figure').length];",
    );
    assert!(saved[0] == saved[1] && saved[0] == saved[2], "as many files as charts: {saved}");
    browser.script("Promise.all(saved.map(blob => blob.text())).then(texts => { window.texts = texts; });");
    browser.until("window.texts");
    let texts = browser.script("return texts;");
    let texts: Vec<&str> = texts.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(texts.iter().all(|text| text.lines().count() >= 2), "{texts:?}");
    let drawing = texts.iter().find(|text| text.starts_with("element,busy,waiting,queued,hit rate\n"));
    assert!(drawing.is_some_and(|text| text.contains("\ncpu.core0.l1d,")), "{texts:?}");

    // Several runs: the difference between two policies on one machine.
    let ids = [viewer.id("bfs"), viewer.id("remote")].join(",");
    look(&browser, &viewer, &format!("compare/{ids}"));
    assert_eq!(browser.script("return document.querySelectorAll('.overview thead th').length;"), json!(3));
    browser.type_keys("/dma.moved.fault");
    assert_eq!(browser.script("return document.querySelectorAll('section:nth-of-type(2) tbody tr').length;"), json!(1));

    look(&browser, &viewer, "experiments");
    let listed = "return document.querySelectorAll('.experiments li').length;";
    let all = cohesim_json("list experiments").as_array().map(Vec::len);
    assert_eq!(browser.script(listed), json!(all), "all experiments of `repro` are listed");
    look(&browser, &viewer, "experiment/giles-study2");
    look(&browser, &viewer, "experiment/knightsim-engine");

    // Every page in a narrow window, and in the dark theme.
    for page in ["runs".to_owned(), format!("run/{id}"), format!("compare/{ids}"), "experiments".into()] {
        for width in [1280, 640] {
            browser.resize(width);
            look(&browser, &viewer, &page);
            assert_eq!(browser.script(TOO_WIDE), json!([]), "{page} at {width}");
        }
    }
    let paper = "return getComputedStyle(document.body).backgroundColor;";
    let light = browser.script(paper);
    browser.prefer("dark");
    assert_ne!(browser.script(paper), light);
}

#[test]
fn thousands_of_runs_are_listed_and_filtered() {
    if !available() {
        return;
    }
    let folder = folder("many");
    cohesim("run vecadd --system skeleton -- --size 64", &folder.join("one"));
    for number in 0..1999 {
        let copy = folder.join(format!("set{}/run{number}", number % 20));
        fs::create_dir_all(&copy).unwrap();
        let text = fs::read_to_string(folder.join("one/run.json")).unwrap();
        fs::write(copy.join("run.json"), text.replace("\"skeleton\"", &format!("\"machine{number}\""))).unwrap();
        fs::copy(folder.join("one/summary.json"), copy.join("summary.json")).unwrap();
    }
    let (viewer, browser) = (Viewer::start(&folder), Browser::start());
    look(&browser, &viewer, "runs");
    assert_eq!(browser.script("return document.querySelector('.found').innerText;"), json!("2,000"));
    let list = "const begun = performance.now(); const request = new XMLHttpRequest(); request.open('GET', '/api/runs', false); \
                request.send(); return performance.now() - begun;";
    let filter = "const begun = performance.now(), input = document.querySelector('main input[type=search]'); \
                  input.value = 'machine17'; input.dispatchEvent(new Event('input')); document.body.offsetHeight; \
                  return performance.now() - begun;";
    let (list, filter) = (browser.script(list), browser.script(filter));
    eprintln!("2,000 runs: the list takes {list} ms, a filter {filter} ms");
    // 17, 170 to 179 and 1700 to 1799.
    assert_eq!(browser.script("return document.querySelector('.found').innerText;"), json!("111 of 2,000"));
}

#[test]
fn only_the_page_itself_is_answered_and_only_with_what_was_named() {
    let folder = folder("guard");
    cohesim("run vecadd --system skeleton -- --size 64", &folder.join("shown/run"));
    fs::write(folder.join("secret.txt"), "secret").unwrap();
    let viewer = Viewer::start(&folder.join("shown"));
    let id = viewer.id("run");
    let status = |method: &str, path: &str, headers: &[(&str, &str)]| http(viewer.port, method, path, headers, None).0;
    let own = format!("http://localhost:{}", viewer.port);
    assert_eq!(status("GET", "/api/runs", &[]), 200);
    assert_eq!(status("GET", "/api/runs", &[("Origin", &own)]), 200);
    assert_eq!(status("GET", "/api/runs", &[("Origin", "http://elsewhere.example")]), 403);
    assert_eq!(status("GET", "/api/runs", &[("Host", "elsewhere.example")]), 403);
    assert_eq!(status("GET", "/", &[("Host", "127.0.0.1")]), 403, "another server's port");
    assert_eq!(status("POST", "/api/runs", &[]), 405);
    assert_eq!(status("GET", &format!("/files/{id}/report.html"), &[]), 200);
    for path in
        ["/files/{}/secret.txt", "/files/{}/..%2f..%2fsecret.txt", "/files/{}/../../secret.txt", "/files/0/run.json"]
    {
        let (status, text) = http(viewer.port, "GET", &path.replace("{}", &id), &[], None);
        assert!(status == 404 && !text.contains("secret\n") && text != "secret", "{path}: {status} {text}");
    }
    for origin in ["null", "http://127.0.0.1", "https://localhost", "http://localhost.example", ""] {
        assert_eq!(status("GET", "/api/runs", &[("Origin", origin)]), 403, "{origin}");
    }
    for path in ["/../secret.txt", "/%2e%2e/secret.txt", "//etc/passwd", "/files/%00/run.json", "/api/runs/%ff"] {
        let (status, text) = http(viewer.port, "GET", path, &[], None);
        assert!(
            (400..500).contains(&status) && !text.contains("secret\n") && !text.contains("root:"),
            "{path}: {status}"
        );
    }
}

#[test]
fn requests_without_end_or_sense_do_not_keep_the_page_from_being_answered() {
    let folder = folder("attack");
    cohesim("run vecadd --system skeleton -- --size 64", &folder.join("run"));
    let viewer = Viewer::start(&folder);
    let send = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", viewer.port)).expect("the server listens");
        // It may close the connection before all has been sent.
        _ = stream.write_all(bytes);
        stream
    };
    let host = format!("Host: 127.0.0.1:{}\r\n", viewer.port);
    let long = "x".repeat(4 << 20);
    let requests = [
        format!("GET /{long} HTTP/1.1\r\n{host}\r\n"),
        format!("GET / HTTP/1.1\r\n{host}X: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}{}\r\n", "X: y\r\n".repeat(10_000)),
        format!("POST /api/runs HTTP/1.1\r\n{host}Content-Length: 99999999999\r\n\r\n{long}"),
        format!("GET / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        "\u{0}\u{1}\r\n\r\n".to_owned(),
        format!("GET http://elsewhere.example/ HTTP/1.1\r\n{host}"),
    ];
    // The connections stay open, and so do many that ask for nothing.
    let open: Vec<TcpStream> = requests.iter().map(|request| send(request.as_bytes())).collect();
    let idle: Vec<TcpStream> = (0..200).map(|_| send(b"GET / HT")).collect();
    assert_eq!(http(viewer.port, "GET", "/api/runs", &[], None).0, 200);
    drop((open, idle));
    assert_eq!(http(viewer.port, "GET", "/", &[], None).0, 200);
}

/// One small run, as `repro` does and keeps it.
static EXPERIMENT: Experiment = Experiment {
    name: "tiny",
    about: "one run",
    source: "nowhere",
    plan: |_| Plan {
        jobs: vec![Job::new("skeleton", "vecadd", "--size 64").with(&["gpu.l2.size=512KiB".into()])],
        native: Vec::new(),
        alone: true,
        notes: Vec::new(),
        rows: Box::new(|_| Vec::new()),
    },
};

#[test]
fn what_repro_keeps_is_listed_with_its_changes_and_figures() {
    let folder = folder("kept");
    let (store, monitor) = (Store::new(&folder, b"this one"), Monitor::default());
    let conductor = Conductor { store: Some(&store), threads: NonZero::<usize>::MIN, monitor: &monitor, tell: &|_| {} };
    let (_, missing) = figures::conduct(&EXPERIMENT, Options::default(), &conductor).expect("results can be kept");
    assert!(missing.is_empty(), "{missing:?}");
    let viewer = Viewer::start(&folder);
    let runs = viewer.json("/api/runs");
    let [run] = runs["runs"].as_array().expect("runs are a list").as_slice() else { panic!("one run: {runs}") };
    assert_eq!((&run["program"], &run["system"]), (&json!("vecadd"), &json!("skeleton")));
    assert_eq!((&run["changes"], &run["whole"]), (&json!("gpu.l2.size=512KiB"), &json!(false)));
    let statistics = viewer.json(&format!("/api/runs/{}/statistics", run["id"].as_str().expect("it has an address")));
    let lines = statistics["lines"].as_array().expect("statistics are lines");
    assert!(
        lines.iter().any(|line| line[0] == "region_fs" && line[2] == run["total_fs"].as_f64().unwrap()),
        "{lines:?}"
    );
}

//! Answers requests: the page's own files, and results as JSON.
//!
//! Only `GET` is answered. A request must name this server as its `Host`, and a request by a page must come from this
//! server's own page (`Origin`). Other pages in the browser, and host names that resolve to the loopback address, get
//! no data.

use crate::{
    assets, elements, file,
    library::{Entry, Library, kept_json},
    statistics::{self, Statistics},
    timeline, wires,
};
use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::Response,
    routing::get,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

/// The results and experiments that the server shows.
pub struct View {
    /// Folders of results.
    pub folders: Vec<PathBuf>,
    /// All experiments that there are.
    pub experiments: Vec<Experiment>,
    pub recall: Recall,
}

/// An experiment, as it is listed.
#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    pub name: String,
    pub about: String,
    /// The place of the experiment in the paper.
    pub source: String,
    /// Whether results of its runs are kept; if not, only what `repro --out` has written of it can be shown.
    pub kept: bool,
}

/// The findings of an experiment, by its name and size (`quick`, `scaled` or `paper`), from the stored results of its
/// runs; `None` if there is no such experiment or size.
pub type Recall = Box<dyn Fn(&str, &str) -> Option<Value> + Send + Sync>;

/// A server that has its address.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    library: Mutex<Library>,
    folders: Vec<String>,
    experiments: Vec<Experiment>,
    recall: Recall,
}

/// Files of a run that can be had as they are, with their types.
const FILES: [(&str, &str); 9] = [
    ("report.html", "text/html; charset=utf-8"),
    ("machine.toml", "text/plain; charset=utf-8"),
    ("stats.json", "application/json"),
    ("stats.csv", "text/csv; charset=utf-8"),
    ("stats.parquet", "application/octet-stream"),
    ("summary.json", "application/json"),
    ("plan.json", "application/json"),
    ("run.json", "application/json"),
    ("trace.json", "application/json"),
];

impl Server {
    /// Takes a port of the loopback address (0: any that is free), and looks for results.
    pub fn bind(view: View, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let folders = view.folders.iter().map(|folder| folder.display().to_string()).collect();
        let mut library = Library::new(view.folders);
        library.refresh();
        let library = Mutex::new(library);
        let shared = Shared { library, folders, experiments: view.experiments, recall: view.recall };
        Ok(Self { listener, address, shared: Arc::new(shared) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many runs there are to look at.
    pub fn runs(&self) -> usize {
        self.shared.library().runs().count()
    }

    /// Answers requests until the process ends.
    pub fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            axum::serve(listener, guarded(router(self.shared), Hosts::of(self.address))).await
        })
    }
}

pub(crate) type Answer = Result<Response, (StatusCode, String)>;

fn router(shared: Arc<Shared>) -> Router {
    let one = |of: fn(&Entry) -> io::Result<Value>| {
        get(move |State(shared): State<Arc<Shared>>, Path(id): Path<String>| of_run(shared, id, of))
    };
    Router::new()
        .route("/api/runs", get(runs))
        .route("/api/runs/{id}", one(run))
        .route("/api/runs/{id}/statistics", one(all_statistics))
        .route("/api/runs/{id}/elements", one(all_elements))
        .route("/api/runs/{id}/timeline", one(time_line))
        .route("/api/runs/{id}/wires", one(freight))
        .route("/api/experiments", get(experiments))
        .route("/api/experiments/{name}/{size}", get(recall))
        .route("/files/{id}/{name}", get(result_file))
        .route("/", get(|| asset(Path(String::new()))))
        .route("/{name}", get(asset))
        .with_state(shared)
}

/// The values that a request's `Host` may have.
#[derive(Clone)]
pub(crate) struct Hosts([String; 2]);

impl Hosts {
    pub(crate) fn of(address: SocketAddr) -> Self {
        Self(["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", address.port())))
    }

    fn are_named_by(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let known = host.is_some_and(|host| self.0.iter().any(|own| own == host));
        let origin = headers.get(header::ORIGIN).is_none_or(|origin| {
            let address = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            address.is_some_and(|address| self.0.iter().any(|own| own == address))
        });
        known && origin
    }
}

/// Routes that answer their own page only.
pub(crate) fn guarded(routes: Router, hosts: Hosts) -> Router {
    routes.layer(middleware::from_fn_with_state(hosts, guard))
}

/// Refuses requests of other pages and by other names; says what the page may load.
async fn guard(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    if !hosts.are_named_by(request.headers()) {
        let why = "This server answers its own page only.\n";
        return with_status(StatusCode::FORBIDDEN, why.to_owned());
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let own = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(own));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl Shared {
    fn library(&self) -> std::sync::MutexGuard<'_, Library> {
        self.library.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, id: &str) -> Result<Entry, (StatusCode, String)> {
        let gone = || (StatusCode::NOT_FOUND, "There is no such run any more.".to_owned());
        self.library().run(id).cloned().ok_or_else(gone)
    }
}

pub(crate) fn with_status(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

pub(crate) fn bytes(kind: &'static str, content: impl Into<Body>) -> Response {
    let mut response = Response::new(content.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(crate) fn told(value: &impl Serialize) -> Answer {
    let text = serde_json::to_vec(value).map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(bytes("application/json", text))
}

/// Does work that reads files on a thread of its own, so that the server can answer meanwhile.
async fn aside(work: impl FnOnce() -> Answer + Send + 'static) -> Response {
    let done = tokio::task::spawn_blocking(work).await;
    let answer = done.unwrap_or_else(|error| Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string())));
    answer.unwrap_or_else(|(status, text)| with_status(status, text))
}

async fn asset(Path(name): Path<String>) -> Response {
    match assets::find(&name) {
        Some((kind, content)) => bytes(kind, content),
        None => with_status(StatusCode::NOT_FOUND, format!("There is no '{name}' here.\n")),
    }
}

async fn runs(State(shared): State<Arc<Shared>>) -> Response {
    aside(move || {
        let mut library = shared.library();
        library.refresh();
        told(&json!({ "folders": shared.folders, "runs": library.runs().collect::<Vec<_>>() }))
    })
    .await
}

async fn of_run(shared: Arc<Shared>, id: String, of: fn(&Entry) -> io::Result<Value>) -> Response {
    aside(move || {
        let entry = shared.entry(&id)?;
        let value = of(&entry).map_err(|error| {
            (StatusCode::NOT_FOUND, format!("The data can't be read in '{}': {error}", entry.path.display()))
        })?;
        told(&value)
    })
    .await
}

/// The summary of a run, its machine file, and the list of its files.
fn run(entry: &Entry) -> io::Result<Value> {
    if !entry.whole {
        return Ok(json!({ "entry": entry, "files": [] }));
    }
    let read = |name: &str| -> io::Result<Value> {
        Ok(serde_json::from_slice(&file::read(&entry.path.join(name), file::SHORT)?)?)
    };
    let files: Vec<&str> = FILES.iter().map(|(name, _)| *name).filter(|name| entry.path.join(name).is_file()).collect();
    let machine = file::read(&entry.path.join("machine.toml"), file::SHORT).unwrap_or_default();
    let machine = String::from_utf8_lossy(&machine);
    let (run, summary) = (read("run.json")?, read("summary.json")?);
    Ok(json!({ "entry": entry, "run": run, "summary": summary, "machine": machine, "files": files }))
}

fn all_statistics(entry: &Entry) -> io::Result<Value> {
    let lines = match entry.whole {
        true => statistics::lines(&Statistics::read(&entry.path)?.total()),
        false => statistics::kept_lines(&serde_json::from_slice(&kept_json(&entry.path)?)?),
    };
    Ok(json!({ "lines": lines }))
}

fn all_elements(entry: &Entry) -> io::Result<Value> {
    let total = Statistics::read(&entry.path)?.total();
    Ok(json!({ "elements": elements::of(&entry.path, &total)? }))
}

fn time_line(entry: &Entry) -> io::Result<Value> {
    let statistics = Statistics::read(&entry.path)?;
    let summary: Value = serde_json::from_slice(&file::read(&entry.path.join("summary.json"), file::SHORT)?)?;
    let clock = summary["clock_hz"].as_f64().filter(|hertz| *hertz > 0.0).unwrap_or(1e9);
    Ok(serde_json::to_value(timeline::of(&entry.path, &statistics, clock))?)
}

fn freight(entry: &Entry) -> io::Result<Value> {
    Ok(json!({ "freight": wires::by_cause(&Statistics::read(&entry.path)?.total()) }))
}

async fn experiments(State(shared): State<Arc<Shared>>) -> Response {
    aside(move || {
        let mut library = shared.library();
        library.refresh();
        told(&json!({ "experiments": shared.experiments, "findings": library.findings().collect::<Vec<_>>() }))
    })
    .await
}

async fn recall(State(shared): State<Arc<Shared>>, Path((name, size)): Path<(String, String)>) -> Response {
    aside(move || {
        let found = (shared.recall)(&name, &size);
        told(
            &found
                .ok_or_else(|| (StatusCode::NOT_FOUND, format!("There is no experiment '{name}' of size '{size}'.")))?,
        )
    })
    .await
}

/// A file of a run, as it is. Scripts in a report have no access to this server.
async fn result_file(State(shared): State<Arc<Shared>>, Path((id, name)): Path<(String, String)>) -> Response {
    aside(move || {
        let entry = shared.entry(&id)?;
        let missing = || (StatusCode::NOT_FOUND, format!("This run has no file '{name}'."));
        let (name, kind) = FILES.iter().find(|(known, _)| *known == name).ok_or_else(missing)?;
        let content = file::read(&entry.path.join(name), u64::MAX).map_err(|_| missing())?;
        let mut response = bytes(kind, content);
        let alone = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(alone));
        Ok(response)
    })
    .await
}

//! The files of the page, part of the program. Charts are drawn by uPlot (MIT licence, `assets/uPlot-LICENSE`).

/// A file by its name: its type and its content.
pub(crate) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    const JS: &str = "text/javascript; charset=utf-8";
    const CSS: &str = "text/css; charset=utf-8";
    Some(match name {
        "" | "index.html" => ("text/html; charset=utf-8", include_str!("../assets/index.html")),
        "progress.js" => (JS, include_str!("../assets/progress.js")),
        "style.css" => (CSS, include_str!("../assets/style.css")),
        "app.js" => (JS, include_str!("../assets/app.js")),
        "charts.js" => (JS, include_str!("../assets/charts.js")),
        "compare.js" => (JS, include_str!("../assets/compare.js")),
        "dom.js" => (JS, include_str!("../assets/dom.js")),
        "experiments.js" => (JS, include_str!("../assets/experiments.js")),
        "live.html" => ("text/html; charset=utf-8", include_str!("../assets/live.html")),
        "live.js" => (JS, include_str!("../assets/live.js")),
        "machine.js" => (JS, include_str!("../assets/machine.js")),
        "sweep.html" => ("text/html; charset=utf-8", include_str!("../assets/sweep.html")),
        "sweep.js" => (JS, include_str!("../assets/sweep.js")),
        "run.js" => (JS, include_str!("../assets/run.js")),
        "runs.js" => (JS, include_str!("../assets/runs.js")),
        "table.js" => (JS, include_str!("../assets/table.js")),
        "uPlot.iife.min.js" => (JS, include_str!("../assets/uPlot.iife.min.js")),
        "uPlot.min.css" => (CSS, include_str!("../assets/uPlot.min.css")),
        "uPlot-LICENSE" => ("text/plain; charset=utf-8", include_str!("../assets/uPlot-LICENSE")),
        _ => return None,
    })
}

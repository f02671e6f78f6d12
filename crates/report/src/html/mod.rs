//! `report.html`: one page with everything in it, nothing from elsewhere.

use crate::{Summary, subject::Subject};

pub(crate) fn page(_subject: &Subject, summary: &Summary) -> String {
    format!("<!doctype html><meta charset=utf-8><title>cohesim</title><pre>{}</pre>\n", escaped(&summary.to_string()))
}

/// Text as it may stand in a page.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

//! The pages that `--out` writes fit a wide window and a narrow one.

use crate::{
    EDGE, TOO_WIDE, cohesim, folder,
    webdriver::{Browser, available},
};
use figures::{Findings, Row};
use serde_json::json;

#[test]
fn tables_of_every_page_fit_wide_and_narrow_windows() {
    if !available() {
        return;
    }
    let folder = folder("reports");
    cohesim(EDGE, &folder.join("edge"));
    // With its eighteen machines, tables have eighteen columns.
    cohesim("compare vecadd --designs -- --size tiny", &folder.join("compared"));
    let row =
        |number: u32| Row::new(format!("kernel time of program {number}, 4 GPUs"), 1.0, f64::from(number)).beside(2.0);
    let (experiment, about, source) = ("halcone-fig7", "speed-up of all systems over RDMA-WB-NC", "HALCONE, Fig. 7");
    let notes = vec!["sizes are smaller than the paper's".to_owned()];
    let findings = Findings { experiment, about, source, rows: (0..20).map(row).collect(), notes };
    report::write_findings(&folder.join("found"), &findings).expect("findings can be written");
    let browser = Browser::start();
    let compared = ["compared/comparison.html", "compared/managed-fault/report.html"];
    for page in ["found/report.html", "edge/report.html"].into_iter().chain(compared) {
        for width in [1280, 640] {
            browser.resize(width);
            browser.open(&format!("file://{}", folder.join(page).display()));
            assert_eq!(browser.script(TOO_WIDE), json!([]), "{page} at {width}");
            assert_eq!(browser.errors(), Vec::<String>::new(), "{page}");
        }
    }
    // The page's script fills the table of statistics, and typing filters it.
    let rows = "return document.querySelectorAll('#table tbody tr').length;";
    assert!(browser.script(rows).as_u64().is_some_and(|rows| rows >= 100));
    browser.script("document.getElementById('filter').focus();");
    browser.type_keys("kernel_cycles");
    assert_eq!(browser.script(rows), json!(1));
}

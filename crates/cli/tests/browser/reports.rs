//! The pages that `--out` writes fit a wide window and a narrow one.

use crate::{
    EDGE, TOO_WIDE, cohesim, folder,
    webdriver::{Browser, available},
};
use serde_json::json;

#[test]
fn tables_of_every_page_fit_wide_and_narrow_windows() {
    if !available() {
        return;
    }
    let folder = folder("reports");
    cohesim(EDGE, &folder.join("edge"));
    cohesim("compare matmul --systems skeleton,r9nano -- --size 32", &folder.join("compared"));
    let browser = Browser::start();
    for page in ["edge/report.html", "compared/comparison.html", "compared/r9nano/report.html"] {
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

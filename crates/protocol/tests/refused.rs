//! Tables with missing, extra or unknown cells do not compile.

#[test]
fn a_table_with_a_hole_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}

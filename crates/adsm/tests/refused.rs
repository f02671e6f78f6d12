//! Programs that must not compile: accesses to objects that a kernel in flight may be using.

#[test]
fn unsynchronised_touches_do_not_compile() {
    let tests = trybuild::TestCases::new();
    tests.compile_fail("tests/refused/*.rs");
}

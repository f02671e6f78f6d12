//! Any bytes as a code object: read, loaded and prepared for a launch, as `tests/damaged_objects.rs` does with damaged
//! ones. Start from the objects of the tests:
//! `cargo fuzz run loader fuzz/corpus/loader tests/objects`.
#![no_main]

#[path = "../../tests/support/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    exercise::exercise(file);
});

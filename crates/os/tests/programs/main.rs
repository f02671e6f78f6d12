//! Tests with whole programs. The guests are built with musl and committed (`tests/guests/build.sh` rebuilds them);
//! programs that need another compiler are built here if it is installed.

mod compiled;
mod damaged;
mod dynamic;
mod endings;
mod files;
mod flags;
mod guests;
mod support;

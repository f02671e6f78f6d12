//! Programs built by compilers on this computer. If a compiler is missing, the test reports that it was skipped, and
//! passes.

use crate::support::{Folder, Outcome, run_program};
use std::process::Command;

/// Compiles a program; none if the compiler or a static library is missing.
pub fn compile(folder: &Folder, compiler: &str, source: (&str, &str), options: &[&str]) -> Option<Vec<u8>> {
    folder.write(source.0, source.1);
    let program = folder.path().join("program");
    let output = Command::new(compiler)
        .args(["-O2", "-o"])
        .arg(&program)
        .arg(folder.path().join(source.0))
        .args(options)
        .output();
    let why = match output {
        Ok(output) if output.status.success() => return Some(std::fs::read(program).expect("the compiler made it")),
        Ok(output) => format!("{compiler} {options:?}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => format!("{compiler}: {error}"),
    };
    assert!(std::env::var_os("COHESIM_REQUIRE_POCL").is_none(), "{why}");
    eprintln!("skipped: {why}");
    None
}

fn run_compiled(name: &str, compiler: &str, source: (&str, &str), options: &[&str]) -> Option<Outcome> {
    let folder = Folder::new(name);
    let program = compile(&folder, compiler, source, options)?;
    Some(run_program(&program, &[], |_| {}))
}

const HELLO: (&str, &str) = (
    "hello.c",
    r#"
    #include <stdio.h>
    int main(int argc, char **argv) { printf("hello %d %.3f %s\n", argc, 0.1 + 0.2, argv[0]); return 0; }
    "#,
);

#[test]
fn glibc_says_hello() {
    if let Some(outcome) = run_compiled("glibc", "gcc", HELLO, &["-static"]) {
        assert_eq!(outcome.good(), "hello 1 0.300 guest\n");
    }
}

#[test]
fn a_static_position_independent_program_relocates_itself() {
    if let Some(outcome) = run_compiled("pie", "gcc", HELLO, &["-static-pie"]) {
        assert_eq!(outcome.good(), "hello 1 0.300 guest\n");
    }
}

#[test]
fn musl_says_hello() {
    if let Some(outcome) = run_compiled("musl", "musl-gcc", HELLO, &["-static"]) {
        assert_eq!(outcome.good(), "hello 1 0.300 guest\n");
    }
}

#[test]
fn cpp_streams_and_exceptions_work() {
    let source = (
        "streams.cpp",
        r#"
        #include <iostream>
        #include <map>
        #include <sstream>
        #include <stdexcept>
        #include <string>
        #include <vector>
        struct Noisy { std::string name; ~Noisy() { std::cout << "gone: " << name << "\n"; } };
        static int depth(int n) {
            Noisy noisy{"level " + std::to_string(n)};
            if (n == 2) throw std::out_of_range("too deep");
            return depth(n + 1);
        }
        int main() {
            std::map<std::string, double> map{{"one", 1.0}, {"half", 0.5}};
            for (auto &[key, value] : map) std::cout << key << " = " << value << std::endl;
            try { depth(0); } catch (const std::exception &e) { std::cout << "caught: " << e.what() << "\n"; }
            try { std::vector<int>().at(3); } catch (const std::out_of_range &) { std::cout << "caught again\n"; }
            std::istringstream in("3 4.5 word"); int i; double d; std::string s; in >> i >> d >> s;
            std::cout << i + d << " " << s << "\n";
            return 0;
        }
        "#,
    );
    let expected =
        "half = 0.5\none = 1\ngone: level 2\ngone: level 1\ngone: level 0\ncaught: too deep\ncaught again\n7.5 word\n";
    if let Some(outcome) = run_compiled("cpp", "g++", source, &["-static", "-std=c++17"]) {
        assert_eq!(outcome.good(), expected);
    }
}

#[test]
fn an_openmp_program_runs_on_four_threads() {
    let source = (
        "openmp.c",
        r#"
        #include <omp.h>
        #include <stdio.h>
        static double values[100000];
        int main(void) {
            int seen[64] = {0}, threads = 0;
            double sum = 0;
            #pragma omp parallel for
            for (int i = 0; i < 100000; i++) { values[i] = i * 0.5; }
            #pragma omp parallel
            {
                #pragma omp single
                threads = omp_get_num_threads();
                seen[omp_get_thread_num()] = 1;
                #pragma omp for reduction(+:sum) schedule(dynamic, 1000)
                for (int i = 0; i < 100000; i++) sum += values[i];
                #pragma omp critical
                sum += 1;
                #pragma omp barrier
            }
            printf("%d threads, %d%d%d%d, sum %.1f\n", threads, seen[0], seen[1], seen[2], seen[3], sum);
            return 0;
        }
        "#,
    );
    if let Some(outcome) = run_compiled("openmp", "gcc", source, &["-static", "-fopenmp"]) {
        assert_eq!(outcome.totals.threads, 4);
        assert_eq!(outcome.good(), "4 threads, 1111, sum 2499975004.0\n");
    }
}

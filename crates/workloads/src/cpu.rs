//! Programs for the CPU alone: OpenMP versions of six workloads, litmus tests of the memory model, and microbenchmarks.
//!
//! The OpenMP versions (`src/NAME/NAME_omp.c`) compute the same results from the same inputs as the workloads with a
//! GPU, for comparisons with these and of speed-ups by number of threads (`[giles 3.3.1 and 3.4.2]`). They form one
//! static program file with glibc and libgomp; the litmus tests form another one with musl. Both also run natively.
//! `cargo xtask guests` builds them.

/// A program that uses no GPU.
pub struct CpuProgram {
    /// The program's name on the command line.
    pub name: &'static str,
    /// One line that says what the program computes, and how.
    pub about: &'static str,
    /// The program's source in C.
    pub source: &'static str,
    /// The program file: x86-64 Linux, static. The name by which it is called selects one of its programs.
    pub image: &'static [u8],
}

static OPENMP: &[u8] = include_bytes!("../guest/openmp.elf");
static PROBES: &[u8] = include_bytes!("../guest/probes.elf");
static LITMUS: &[u8] = include_bytes!("../guest/litmus.elf");

/// All programs for the CPU alone, in the order in which they are listed.
pub static CPU_PROGRAMS: &[CpuProgram] = &[
    CpuProgram {
        name: "backprop-omp",
        about: "trains a network of one hidden layer; both passes over the first layer are shared out",
        source: include_str!("backprop/backprop_omp.c"),
        image: OPENMP,
    },
    CpuProgram {
        name: "lud-omp",
        about: "decomposes matrices into lower and upper triangles; the 16 x 16 blocks of a step are shared out",
        source: include_str!("lud/lud_omp.c"),
        image: OPENMP,
    },
    CpuProgram {
        name: "kmeans-omp",
        about: "clusters points: they are shared out to be assigned to centres, and the features to move these",
        source: include_str!("kmeans/kmeans_omp.c"),
        image: OPENMP,
    },
    CpuProgram {
        name: "hotspot-omp",
        about: "follows the temperatures of a chip; the rows of each step are shared out",
        source: include_str!("hotspot/hotspot_omp.c"),
        image: OPENMP,
    },
    CpuProgram {
        name: "needleman-wunsch-omp",
        about: "scores the alignments of two sequences; the blocks of each diagonal are shared out",
        source: include_str!("needleman_wunsch/needleman_wunsch_omp.c"),
        image: OPENMP,
    },
    CpuProgram {
        name: "bfs-omp",
        about: "finds every node's distance from the first in a random graph; the nodes of each level are shared out",
        source: include_str!("bfs/bfs_omp.c"),
        image: OPENMP,
    },
    CpuProgram {
        name: "litmus",
        about: "runs litmus tests of the memory model (-- all, or -- SB) and counts what comes out",
        source: include_str!("../guest/litmus/tests.h"),
        image: LITMUS,
    },
    CpuProgram {
        name: "core-probes",
        about: "microbenchmarks of a core and its caches: picoseconds of each step (see cohesim bench machine)",
        source: include_str!("../guest/probes/cores.c"),
        image: PROBES,
    },
];

/// The CPU program called `name`; `_` and `-` are equivalent.
pub fn find_cpu_program(name: &str) -> Option<&'static CpuProgram> {
    let name = name.replace('_', "-");
    CPU_PROGRAMS.iter().find(|program| program.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openmp() -> impl Iterator<Item = &'static CpuProgram> {
        CPU_PROGRAMS.iter().filter(|program| program.name.ends_with("-omp"))
    }

    #[test]
    fn the_file_of_openmp_programs_holds_those_that_are_listed() {
        let listed =
            include_str!("../guest/openmp/programs.h").lines().filter_map(|line| line.strip_prefix("PROGRAM("));
        let names: Vec<String> = listed.map(|rest| rest.trim_end_matches(')').replace('_', "-")).collect();
        assert!(names.len() >= 6, "{names:?}");
        assert_eq!(names, openmp().map(|program| program.name).collect::<Vec<_>>());
    }

    #[test]
    fn a_program_says_the_same_of_itself_as_the_list() {
        for CpuProgram { name, about, source, image } in openmp() {
            assert!(source.contains(&format!(".name = \"{name}\"")), "{name}");
            assert!(source.contains(&format!(".about = \"{about}\"")), "{name}: {about}");
            let built = image.windows(about.len()).any(|window| window == about.as_bytes());
            assert!(built, "{name} is newer than its program file: run `cargo xtask guests --update`");
        }
    }

    #[test]
    fn every_openmp_program_has_a_workload_that_computes_the_same() {
        for program in openmp() {
            assert!(crate::find(program.name.trim_end_matches("-omp")).is_some(), "{}", program.name);
        }
    }
}

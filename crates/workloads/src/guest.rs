//! The compiled host programs of the workloads.
//!
//! Every workload is also a whole program: `src/NAME/NAME.c` creates the inputs in shared virtual memory, launches the
//! kernels through OpenCL, computes the reference on the CPU and compares. All of them are in one static program file,
//! which is committed. `cargo xtask guests` builds it from these sources, `guest/` and the SDK's `libOpenCL.a`.

/// The program file: x86-64 Linux, static. The name by which it is called, or its first argument, selects the workload.
pub fn guest() -> &'static [u8] {
    include_bytes!("../guest/workloads.elf")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ALL;

    #[test]
    fn the_guest_holds_the_host_programs_of_all_workloads() {
        let listed = include_str!("../guest/programs.h").lines().filter_map(|line| line.strip_prefix("PROGRAM("));
        let names: Vec<String> = listed.map(|rest| rest.trim_end_matches(')').replace('_', "-")).collect();
        assert_eq!(names, ALL.iter().map(|workload| workload.name).collect::<Vec<_>>());
    }

    #[test]
    fn a_host_program_says_the_same_of_itself_as_the_catalogue() {
        for workload in ALL {
            let (name, about) = (workload.name, workload.about);
            assert!(workload.host.contains(&format!(".name = \"{name}\"")), "{name}");
            assert!(workload.host.contains(&format!(".about = \"{about}\"")), "{name}: {about}");
        }
    }

    #[test]
    fn the_guest_is_built_from_the_kernels_that_are_committed() {
        let contains = |part: &[u8]| guest().windows(part.len()).any(|window| window == part);
        for workload in ALL {
            assert!(contains(workload.object), "{}.hsaco is newer: run `cargo xtask guests --update`", workload.name);
            assert!(
                contains(workload.source.as_bytes()),
                "{}.cl is newer: run `cargo xtask guests --update`",
                workload.name
            );
        }
    }
}

//! `cohesim list workloads`, `show workload`, `bench gcn3` and `bench x86`.

use crate::support::cohesim;

#[test]
fn every_workload_is_listed_with_what_it_computes() {
    let text = cohesim(&["list", "workloads"]).result();
    assert_eq!(text.lines().count(), 61);
    assert!(text.contains("vecadd                adds two vectors of floats\n"), "{text}");
    assert!(text.contains("hotspot-omp           CPU only: follows the temperatures of a chip"), "{text}");
    let json = cohesim(&["list", "workloads", "--json"]).json();
    assert_eq!(json["workloads"].as_array().map(Vec::len), Some(61));
    assert_eq!((&json["workloads"][0]["name"], &json["workloads"][0]["cpu_only"]), (&"vecadd".into(), &false.into()));
    assert_eq!(json["workloads"][60]["cpu_only"], true);
}

#[test]
fn a_workload_is_shown_with_its_sizes_and_kernels() {
    let text = cohesim(&["show", "workload", "bitonic-sort"]).result();
    assert!(text.contains("  default  524288 keys\n"), "{text}");
    assert!(text.contains("kernel compare_local(ulong*, uint, uint)\n"), "{text}");
    assert!(text.contains("4096 bytes of LDS"), "{text}");
    let source = cohesim(&["show", "workload", "bitonic-sort", "--source"]).result();
    assert!(source.contains("__kernel void compare_global("), "{source}");
    let host = cohesim(&["show", "workload", "bitonic-sort", "--host"]).result();
    assert!(host.contains("launch(\"compare_global\""), "{host}");
}

#[test]
fn a_program_for_the_cpu_alone_is_shown_without_kernels() {
    let text = cohesim(&["show", "workload", "bfs-omp"]).result();
    assert!(text.starts_with("bfs-omp: CPU only: finds every node's distance"), "{text}");
    let source = cohesim(&["show", "workload", "bfs-omp", "--host"]).result();
    assert!(source.contains("#pragma omp parallel for"), "{source}");
    let error = cohesim(&["show", "workload", "bfs-omp", "--source"]).error();
    assert!(error.contains("bfs-omp has no kernels"), "{error}");
}

#[test]
fn an_unknown_workload_is_refused_by_name() {
    for command in [["show", "workload", "bogosort"], ["bench", "gcn3", "bogosort"]] {
        let error = cohesim(&command).error();
        assert!(error.contains("there is no workload 'bogosort'"), "{error}");
    }
}

#[test]
fn the_bench_gives_four_numbers_for_each_workload() {
    let json = cohesim(&["bench", "gcn3", "vecadd", "reduction", "--size", "tiny", "--threads", "2", "--json"]).json();
    let results = json["results"].as_array().expect("results are a list");
    let names: Vec<_> = results.iter().map(|result| result["workload"].as_str()).collect();
    assert_eq!(names, [Some("vecadd"), Some("reduction")]);
    for result in results {
        assert!(result["wave_instructions"].as_u64().is_some_and(|n| n > 100), "{result}");
        assert!(result["seconds"].as_f64().is_some_and(|s| s > 0.0), "{result}");
        assert!(result["per_second"].as_f64().is_some_and(|n| n > 0.0), "{result}");
    }
}

#[test]
fn the_bench_of_the_cpu_gives_four_numbers_for_each_program() {
    let json = cohesim(&["bench", "x86", "--size", "tiny", "--json"]).json();
    let results = json["results"].as_array().expect("results are a list");
    let names: Vec<_> = results.iter().map(|result| result["program"].as_str()).collect();
    assert_eq!(names, [Some("integer"), Some("sse2")]);
    for result in results {
        assert!(result["instructions"].as_u64().is_some_and(|n| n > 1_000_000), "{result}");
        assert!(result["seconds"].as_f64().is_some_and(|s| s > 0.0), "{result}");
        assert!(result["per_second"].as_f64().is_some_and(|n| n > 0.0), "{result}");
    }
    let error = cohesim(&["bench", "x86", "float"]).error();
    assert!(error.contains("there is no benchmark 'float': use integer or sse2"), "{error}");
}

//! `cohesim list workloads`, `show workload` and `bench gcn3`.

use crate::support::cohesim;

#[test]
fn every_workload_is_listed_with_what_it_computes() {
    let text = cohesim(&["list", "workloads"]).result();
    assert_eq!(text.lines().count(), 28);
    assert!(text.contains("vecadd            adds two vectors of floats\n"), "{text}");
    let json = cohesim(&["list", "workloads", "--json"]).json();
    assert_eq!(json["workloads"].as_array().map(Vec::len), Some(28));
    assert_eq!(json["workloads"][0]["name"], "vecadd");
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

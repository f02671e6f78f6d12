//! The built-in workloads as whole programs: host code on the functional CPU, kernels on the functional GPU.

use std::process::Command;

use ::workloads::{ALL, Rng, Size};

use crate::{Ran, inside, support::Folder};

/// A workload at its tiny size.
fn tiny(name: &str, options: &[&str], arguments: &[&str]) -> Ran {
    inside(name, &[options, &["--", "--size", "tiny"], arguments].concat())
}

#[test]
fn every_workload_is_right_with_every_memory_policy() {
    for workload in ALL {
        for policy in ["memcpy", "shared"] {
            let Ran { code, out } = tiny(workload.name, &["--memory-policy", policy], &[]);
            assert_eq!(code, Some(0), "{} with {policy}: {out}", workload.name);
            let rest = out.strip_prefix(&format!("{} size ", workload.name)).unwrap_or_else(|| panic!("{out}"));
            let (size, verdict) = rest.split_once(": ").unwrap_or_else(|| panic!("{out}"));
            assert!(verdict.starts_with("right"), "{out}");
            // The tiny size must equal that of the workload without its host program.
            let described = (workload.sizes)(Size::Tiny);
            assert!(size.split('x').all(|n| n == "1" || described.contains(n)), "{size} is not {described}");
        }
    }
}

/// Policies for GPUs with memories of their own; blocks and memories are small, so that many bytes move.
const APART: [&[&str]; 7] = [
    &["memcpy", "--spread", "pages"],
    &["zero-copy", "--gpu-memory", "1MiB"],
    &["managed-eager"],
    &["managed-fault", "--gpu-memory", "128KiB"],
    &["adsm-batch", "--spread", "device 0"],
    &["adsm-lazy"],
    &["adsm-rolling", "--adsm-block", "4KiB", "--adsm-rolling", "1"],
];

#[test]
fn host_and_gpus_with_memories_of_their_own_agree_under_every_policy() {
    for (workload, gpus) in [("kmeans", "2"), ("bfs", "4"), ("stencil", "1"), ("xtreme3", "2"), ("histogram", "3")] {
        for policy in APART {
            let start = ["--gpus", gpus, "--poison", "--memory-policy"];
            let apart = [&start, policy].concat();
            let Ran { code, out } = tiny(workload, &apart, &[]);
            assert_eq!(code, Some(0), "{workload} with {policy:?} on {gpus} GPUs: {out}");
        }
    }
}

#[test]
fn each_gpu_can_be_a_device_and_its_memory_follows_the_kernels() {
    for policy in APART {
        let each = [&["--gpus", "3", "--devices", "each", "--poison", "--memory-policy"], policy].concat();
        let Ran { code, out } = tiny("kmeans", &each, &[]);
        assert_eq!(code, Some(0), "{policy:?}: {out}");
    }
}

#[test]
fn a_forgotten_transfer_and_a_forgotten_shootdown_are_noticed() {
    let forgets = |policy: &str, what: &str| {
        let options = ["--gpus", "2", "--poison", "--memory-policy", policy, "--forget", what];
        tiny("xtreme3", &options, &[]).code
    };
    assert_eq!(forgets("managed-fault", "shootdown:1"), Some(1));
    assert_eq!(forgets("managed-fault", "shootdown:1000000"), Some(0));
    for policy in ["managed-eager", "managed-fault", "adsm-lazy", "adsm-batch"] {
        let noticed = [4, 0].iter().any(|n| forgets(policy, &format!("transfer:{n}")) == Some(1));
        assert!(noticed, "{policy}");
    }
}

#[test]
fn what_moved_between_memories_and_why_is_counted() {
    let counts = |options: &[&str]| {
        let options = [&["--json", "--gpus", "2", "--memory-policy"], options].concat();
        report(&tiny("kmeans", &options, &[]))["gpu"].clone()
    };
    let copied = counts(&["memcpy", "--spread", "ranges"]);
    assert!(copied["moved"]["copy"].as_u64() > Some(0) && copied["moved"]["launch"].as_u64() > Some(0), "{copied}");
    assert!(copied["host_faults"].is_null() && copied["moved"]["fault"].is_null(), "{copied}");
    let faulted = counts(&["managed-fault"]);
    assert!(faulted["device_faults"].as_u64() > Some(0) && faulted["host_faults"].as_u64() > Some(0), "{faulted}");
    assert!(faulted["migrations"].as_u64() > Some(0) && faulted["evictions"].is_null(), "{faulted}");
    let evicted = counts(&["managed-fault", "--gpu-memory", "40KiB"]);
    assert!(evicted["evictions"].as_u64() > Some(0) && evicted["moved"]["eviction"].as_u64() > Some(0), "{evicted}");
    let rolled = counts(&["adsm-rolling", "--adsm-block", "4KiB", "--adsm-rolling", "1"]);
    assert!(rolled["moved"]["write-back"].as_u64() > Some(0), "{rolled}");
}

#[test]
fn a_policy_that_the_gpus_cannot_follow_is_refused() {
    let refused = |options: &[&str]| {
        let Ran { code, out } = tiny("vecadd", options, &[]);
        assert_ne!(code, Some(0), "{out}");
    };
    refused(&["--memory-policy", "shared", "--gpu-memory", "1MiB"]);
    refused(&["--memory-policy", "adsm-lazy", "--spread", "first-touch"]);
    refused(&["--memory-policy", "memcpy", "--spread", "device 1"]);
    refused(&["--memory-policy", "moves"]);
}

#[test]
fn inputs_are_those_of_the_workload_without_its_host_program() {
    let expected = |name: &str| {
        let out = tiny(name, &[], &["--break"]).out;
        let value = out.split("expected ").nth(1).and_then(|rest| rest.split([';', ' ']).next());
        value.unwrap_or_else(|| panic!("{out}")).to_owned()
    };
    let sum = Rng::new(4).u32s(3000).iter().fold(0u32, |sum, x| sum.wrapping_add(*x));
    assert_eq!(expected("reduction"), sum.to_string());
    let mut rng = Rng::new(1);
    let (a, b) = (rng.f32s(1000, -100.0, 100.0), rng.f32s(1000, -100.0, 100.0));
    assert_eq!(expected("vecadd").parse(), Ok(a[500] + b[500]));
    let mut rng = Rng::new(6);
    let mut keys: Vec<u64> = (0..2048).map(|_| rng.u64()).collect();
    keys.sort_unstable();
    assert_eq!(expected("bitonic-sort"), keys[1024].to_string());
}

/// The workloads of each paper; their sizes are named by the paper's key.
const PAPERS: [(&str, &[&str]); 4] = [
    (
        "halcone",
        &[
            "aes",
            "atax",
            "bfs",
            "bicg",
            "bitonic-sort",
            "fir",
            "floyd-warshall",
            "matmul",
            "max-pooling",
            "relu",
            "convolution",
            "xtreme1",
            "xtreme2",
            "xtreme3",
        ],
    ),
    (
        "umh",
        &[
            "black-scholes",
            "dct",
            "haar-wavelet",
            "floyd-warshall",
            "fast-walsh",
            "histogram",
            "matmul",
            "transpose",
            "mersenne-twister",
            "reduction",
            "radix-sort",
            "convolution",
            "sobel",
            "scan",
        ],
    ),
    (
        "vcache",
        &[
            "backprop",
            "betweenness",
            "bfs",
            "colouring-max",
            "colouring-maxmin",
            "floyd-warshall",
            "floyd-warshall-blocked",
            "hotspot",
            "independent-set",
            "kmeans",
            "lud",
            "needleman-wunsch",
            "pagerank",
            "pagerank-spmv",
            "pathfinder",
        ],
    ),
    ("gmac", &["cp", "mri-fhd", "mri-q", "pns", "rpes", "sad", "stencil", "tpacf", "vecadd"]),
];

#[test]
fn every_workload_of_a_paper_has_its_size_and_a_scaled_one() {
    for (paper, names) in PAPERS {
        for name in names {
            let Ran { code, out } = inside(name, &["--", "--help"]);
            assert_eq!(code, Some(0), "{name}: {out}");
            for size in ["paper", "scaled"] {
                assert!(out.contains(&format!("; `{size}-{paper}` is ")), "{name} has no size {size}-{paper}: {out}");
            }
        }
    }
    let Ran { code, out } = inside("transpose", &["--", "--size", "scaled-umh"]);
    assert_eq!((code, out.as_str()), (Some(0), "transpose size 256x256: right (max error 0 ulp)\n"));
}

/// Workloads on graphs.
const OF_GRAPHS: [&str; 7] =
    ["bfs", "betweenness", "colouring-max", "colouring-maxmin", "independent-set", "pagerank", "pagerank-spmv"];

#[test]
fn graphs_of_every_kind_and_from_files_of_both_formats_will_do() {
    let folder = Folder::new("graphs");
    let file = |name: &str, text: &str| {
        let path = folder.file(name);
        std::fs::write(&path, text).expect("the folder is there");
        path
    };
    let dimacs = file("ring.gr", "c a ring\np sp 4 5\na 1 2 7\na 2 1 7\na 2 3 1\na 3 4 2\na 4 1 9\n");
    let pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n% a path\n5 5 4\n2 1\n3 2\n4 3\n5 4\n";
    let matrix = file("path.mtx", pattern);
    let mount = folder.file("");
    for name in OF_GRAPHS {
        let sparse = ("uniform:2", "200");
        for (graph, size) in
            [("uniform", "200"), sparse, ("rmat", "200"), ("road", "200"), (&*dimacs, "4"), (&*matrix, "5")]
        {
            let of = ["--mount", &mount, "--", "--size", "200", "--graph", graph];
            let Ran { code, out } = inside(name, &of);
            assert_eq!(code, Some(0), "{name} of {graph}: {out}");
            assert!(out.starts_with(&format!("{name} size {size}")) && out.contains(": right"), "{out}");
        }
    }
}

#[test]
fn the_first_rounds_on_a_graph_are_right_by_themselves() {
    for name in ["colouring-max", "colouring-maxmin", "independent-set"] {
        for rounds in ["1", "2"] {
            let of = ["--", "--size", "300", "--graph", "uniform:4", "--iterations", rounds];
            let Ran { code, out } = inside(name, &of);
            assert_eq!(
                (code, out),
                (Some(0), format!("{name} size 300: right (max error 0 ulp)\n")),
                "{rounds} rounds"
            );
        }
    }
}

#[test]
fn a_bad_file_of_a_graph_is_refused_with_the_line_and_what_would_be_right() {
    let folder = Folder::new("bad-graphs");
    let mount = folder.file("");
    let head = "%%MatrixMarket matrix coordinate real general\n";
    for (name, text, message) in [
        ("none.gr", None, "No such file or directory"),
        ("empty.gr", Some(""), "empty.gr: there is no line `p sp NODES ARCS`"),
        ("early.gr", Some("a 1 2 3\n"), "early.gr:1: an arc before the line `p sp NODES ARCS`"),
        ("head.gr", Some("p max 3 2\n"), "head.gr:1: `p sp NODES ARCS` is needed"),
        ("range.gr", Some("p sp 2 1\na 1 3 1\n"), "range.gr:2: node 3 is not one of 1 to 2"),
        ("few.gr", Some("p sp 3 2\na 1 2 1\n"), "few.gr: it has 1 arcs, but its head promises 2"),
        ("many.gr", Some("p sp 3 1\na 1 2 1\na 2 3 1\n"), "many.gr:3: more than the 1 arcs"),
        ("kind.gr", Some("p sp 3 1\nx 1 2 1\n"), "kind.gr:2: a line begins with `c`, `p` or `a`, not `x`"),
        ("nodes.gr", Some("p sp 0 0\n"), "nodes.gr:1: 0 nodes; there can be 1 to 67108864"),
        ("head.mtx", Some("4 4 1\n1 1\n"), "head.mtx:1: `%%MatrixMarket matrix coordinate ...` is needed"),
        ("array.mtx", Some("%%MatrixMarket matrix array real general\n"), "not a `matrix` in `array`"),
        ("wide.mtx", Some(&*format!("{head}3 4 1\n1 1\n")), "wide.mtx:2: the matrix of a graph is square, not 3 x 4"),
        ("word.mtx", Some(&*format!("{head}3 3 1\none two\n")), "word.mtx:3: `ROW COLUMN` is needed"),
        (
            "short.mtx",
            Some(&*format!("{head}3 3 2\n1 2 0.5\n")),
            "short.mtx: it has 1 entries, but its head promises 2",
        ),
        ("graph.txt", Some("p sp 1 0\n"), "a file `*.gr` or `*.mtx` is needed"),
        ("uniform:3", None, "an even number of edges at a node from 2 to 256 is needed"),
    ] {
        let path = if name.starts_with("uniform") { name.to_owned() } else { folder.file(name) };
        if let Some(text) = text {
            std::fs::write(&path, text).expect("the folder is there");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        command.args(["run", "pagerank", "--functional", "--mount", &mount, "--", "--graph", &path]);
        let output = command.output().expect("the command was built");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(message), "{name}: {said}");
    }
}

#[test]
fn every_workload_is_right_on_four_gpus() {
    for workload in ALL {
        let Ran { code, out } = tiny(workload.name, &["--gpus", "4"], &[]);
        assert_eq!(code, Some(0), "{}: {out}", workload.name);
    }
}

/// bfs reads the distances of nodes while other nodes of the level are marked. This race is harmless: a node being
/// marked does not belong to the current level, whichever value is read.
#[test]
fn no_workload_has_a_data_race_but_for_the_search_whose_result_does_not_depend_on_it() {
    for workload in ALL {
        let Ran { code, out } = tiny(workload.name, &["--check"], &[]);
        assert_eq!(code, Some(if workload.name == "bfs" { 125 } else { 0 }), "{}: {out}", workload.name);
    }
}

#[test]
fn every_workload_notices_one_wrong_bit() {
    for workload in ALL {
        let Ran { code, out } = tiny(workload.name, &[], &["--break"]);
        assert_eq!(code, Some(1), "{}: {out}", workload.name);
        assert!(out.contains(": wrong: ") && out.contains("; 1 of "), "{out}");
    }
}

#[test]
fn every_way_to_pass_arrays_gives_right_results() {
    for workload in ALL {
        for copies in ["explicit", "none"] {
            let Ran { code, out } = tiny(workload.name, &[], &["--copies", copies]);
            assert_eq!(code, Some(0), "{} with copies {copies}: {out}", workload.name);
        }
    }
    for name in ["matmul", "edge", "knn", "backprop", "write"] {
        for (copies, policy) in [("explicit", "memcpy"), ("mapped", "shared"), ("none", "shared")] {
            let shared = ["--copies", copies, "--cpu-share", "30", "--threads", "2", "--chunk", "1"];
            let Ran { code, out } = tiny(name, &["--memory-policy", policy], &shared);
            assert_eq!(code, Some(0), "{name} with copies {copies}: {out}");
        }
    }
}

/// The report of a run with `--json`.
fn report(ran: &Ran) -> serde_json::Value {
    serde_json::from_str(&ran.out).expect("it is JSON")
}

/// How long the region of interest of a workload at its tiny size took, in femtoseconds.
fn region(name: &str, arguments: &[&str]) -> u64 {
    report(&tiny(name, &["--json"], arguments))["region_fs"].as_u64().expect("the program marks a region")
}

#[test]
fn the_small_size_of_a_workload_is_fit_for_a_timed_cpu() {
    let half: &[&str] = &["--cpu-share", "50"];
    let shared = ["matmul", "edge", "knn", "backprop", "write"].map(|name| (name, half));
    let alone = ["lud", "kmeans", "hotspot", "needleman-wunsch", "bfs"].map(|name| (name, &[][..]));
    for (name, arguments) in shared.into_iter().chain(alone) {
        let ran = inside(name, &[&["--json", "--", "--size", "small"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.out);
        let instructions = report(&ran)["instructions"].as_u64().expect("instructions are counted");
        assert!((500_000..5_000_000).contains(&instructions), "{name} takes {instructions} instructions");
    }
}

#[test]
fn copies_are_part_of_the_region_of_interest() {
    let with = |copies| region("lud", &["--copies", copies]);
    assert!(with("explicit") > with("none"));
}

#[test]
fn the_adjustment_of_weights_can_be_measured_alone() {
    for share in ["0", "60"] {
        let all = region("backprop", &["--cpu-share", share]);
        let adjustment = region("backprop", &["--cpu-share", share, "--region", "adjust"]);
        assert!(adjustment < all / 2, "with {share}%: {adjustment} of {all}");
    }
}

#[test]
fn any_share_of_the_work_can_be_the_cpus() {
    for name in ["matmul", "edge", "knn", "backprop", "write"] {
        for share in ["1", "50", "100"] {
            let Ran { code, out } = tiny(name, &[], &["--cpu-share", share, "--threads", "3"]);
            assert_eq!(code, Some(0), "{name} with {share}%: {out}");
        }
    }
}

#[test]
fn two_runs_are_the_same_to_the_last_instruction() {
    for name in ["backprop", "kmeans"] {
        let run = || tiny(name, &["--json"], &["--threads", "4"]);
        assert_eq!(run(), run());
    }
}

#[test]
fn a_workloads_name_goes_before_a_files_and_either_spelling_will_do() {
    assert!(tiny("bitonic_sort", &[], &[]).out.starts_with("bitonic-sort size 2048: right"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    let output = command.args(["run", "bogosort", "--functional"]).output().expect("the command was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("there is neither a file nor a workload 'bogosort'"), "{said}");
    assert!(said.contains("cohesim list workloads"), "{said}");
}

#[test]
fn a_wrong_argument_is_refused_with_what_would_be_right() {
    for (arguments, message) in [
        (&["matmul", "--size", "50"][..], "matmul: --size 50: the side must be a multiple of 16"),
        (&["matmul", "--size", "64x64"], "matmul: --size 64x64: too many numbers"),
        (&["matmul", "--size", "0"], "it must not be 0"),
        (&["matmul", "--size", "-3"], "a number is needed"),
        (&["matmul", "--size", "2000000000"], "are more than 2^30"),
        (&["matmul", "--cpu-share", "101"], "a number up to 100 is needed"),
        (&["vecadd", "--cpu-share", "10"], "there is no option '--cpu-share'"),
        (&["vecadd", "--threads", "0"], "a number from 1 to 64 is needed"),
        (&["vecadd", "--size"], "--size needs a value"),
        (&["vecadd", "--copies", "some"], "`explicit`, `mapped` or `none` is needed"),
        (&["vecadd", "--region", "adjust"], "there is no option '--region'"),
        (&["backprop", "--region", "forward"], "only `adjust` is known"),
        (&["bfs-omp", "--copies", "none"], "there is no option '--copies'"),
        (&["bfs-omp", "--threads", "0"], "a number from 1 to 128 is needed"),
        (&["litmus", "WRC"], "there is no test 'WRC'"),
        (&["litmus", "SB", "--runs", "0"], "a number from 1 to 1000000000 is needed"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        command.args(["run", arguments[0], "--functional", "--"]).args(&arguments[1..]);
        let output = command.output().expect("the command was built");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
}

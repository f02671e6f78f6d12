//! Errors for wrong machine files: where, why, and what would be right.

use machine::Machine;

/// The error that these changes cause.
fn refused(changes: &[&str]) -> String {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    Machine::load("skeleton", &changes).err().expect("it is wrong").to_string()
}

#[test]
fn a_wrong_change_is_reported_as_it_was_written() {
    assert_eq!(
        refused(&["gpu.l2.siez=1MiB"]),
        "--set gpu.l2.siez=1MiB: [gpu.l2] has no key 'siez' (did you mean 'size'?); its keys: size, ways, banks, interleave, \
         mshrs, waiting, join_queue, write_back_queue, line, replacement, ports, tags"
    );
    assert_eq!(
        refused(&["gpu.clock=fast"]),
        "--set gpu.clock=fast: [gpu] clock: 'fast' is not a number with a unit (GHz, MHz, kHz, Hz)"
    );
    assert_eq!(refused(&["gpu.l2.size"]), "--set gpu.l2.size: write it as path=value");
    assert_eq!(refused(&["gpu..size=1"]), "--set gpu..size=1: a path is made of names with dots between them");
    assert_eq!(refused(&["gpu.clock.rate=1"]), "--set gpu.clock.rate=1: 'clock' is a value, not a section");
    assert!(refused(&["gpu.arrays=-1"]).starts_with("--set gpu.arrays=-1: [gpu] arrays: "));
    assert!(refused(&["gpu.arrays=many"]).starts_with("--set gpu.arrays=many: [gpu] arrays: "));
    assert!(refused(&["gpus=0"]).ends_with("gpus: must be at least 1"));
    let said = refused(&["gpus=2", "gpu.l2.write_back_queue=1"]);
    assert!(said.contains("[gpu.l2] write_back_queue: must be at least 2 with several GPUs"), "{said}");
}

#[test]
fn an_unknown_choice_is_reported_with_the_nearest_known_one() {
    let said = refused(&["memory.kind=gdr5"]);
    assert!(said.starts_with("--set memory.kind=gdr5: [memory] kind: must be one of fixed, "), "{said}");
    assert!(said.ends_with("(did you mean 'gddr5'?)"), "{said}");
    let said = refused(&["memory.dram.page=opened"]);
    assert!(said.ends_with("[memory.dram] page: must be one of open, closed (did you mean 'open'?)"), "{said}");
    assert!(refused(&["protocol=wt-nc"]).contains("(did you mean 'wt_nc'?)"));
}

#[test]
fn sizes_that_do_not_fit_each_other_are_reported_with_their_place() {
    assert_eq!(
        refused(&["gpu.l1v.size=1000 B"]),
        "--set gpu.l1v.size=1000 B: [gpu.l1v] size: 1000 B can't be cut into sets of 4 lines of 64 B"
    );
    assert_eq!(
        refused(&["gpu.l2.banks=3"]).split(": ").last(),
        refused(&["gpu.l2.banks=3", "gpu.clock=1 GHz"]).split(": ").last(),
        "the same is wrong, whatever else was changed"
    );
    assert!(refused(&["gpu.l2.interleave=96 B"]).ends_with("must be a power of two, and a line of 64 B at least"));
    assert!(
        refused(&["wires.l1_l2.latency=0 ns"])
            .ends_with("must be longer than 0: a wire at which the machine can be cut has a latency")
    );
}

#[test]
fn a_key_with_dots_and_one_that_is_missing_have_their_places() {
    let folder = std::env::temp_dir().join(format!("cohesim-mistakes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is a folder for temporary files");
    let path = folder.join("mine.toml");
    let wrong = |text: &str| {
        std::fs::write(&path, text).expect("the folder is ours");
        let name = path.to_str().expect("its name is plain");
        Machine::load(name, &[]).err().expect("it is wrong").to_string().replace(name, "mine.toml")
    };
    assert_eq!(
        wrong("extends = \"skeleton\"\ngpu.l2.siez = \"1 MiB\"\n").split("; its").next(),
        Some("mine.toml:2: [gpu.l2] has no key 'siez' (did you mean 'size'?)")
    );
    let some = "about = \"x\"\nprotocol = \"wb_nc\"\ngpus = 1\n[gpu]\nclock = \"1 GHz\"\narrays = 1\n";
    assert_eq!(wrong(some), "mine.toml:4: [gpu] lacks the key 'units_per_array'");
    assert_eq!(wrong("protocol = \"wb_nc\"\n"), "mine.toml: the machine lacks the key 'about'");
    assert_eq!(
        wrong("about = \"x\"\nprotocol = \"wb_nc\"\ngpus = 1\n[gpu]\narrays = 1\n"),
        "mine.toml:4: [gpu] lacks the key 'clock'",
        "also of a key with a unit"
    );
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn every_element_on_the_network_of_a_cpu_counts_for_what_it_can_join() {
    let crossbar = |cores: u32, mmu: &str| {
        let sets = ["system.network.kind=crossbar".into(), format!("cpu.cores={cores}"), "system.slices=20".into()];
        Machine::load("apu-c-l3", &[&sets[..], &[format!("gpu.mmu.kind={mmu}")]].concat())
    };
    // Including hub and system agent. An IOMMU that reads tables is one more station.
    assert!(crossbar(20, "none").is_ok() && crossbar(19, "iommu").is_ok());
    let said = crossbar(20, "iommu").err().expect("there are too many").to_string();
    assert!(said.ends_with("a switch has 43 ports, and can have 42 at most"), "{said}");
}

#[test]
fn resources_too_small_to_run_with_are_refused_with_the_reason() {
    let said = refused(&["gpu.compute_unit.instruction_buffer=64 B"]);
    assert!(said.ends_with("must be at least 128 B: an instruction may lie in two lines of 64 B"), "{said}");
    for key in ["mshrs", "ways", "write_back_queue"] {
        let said = refused(&["protocol=hmg", "gpus=2", &format!("gpu.l2.{key}=1")]);
        assert!(said.contains(&format!("[gpu.l2] {key}: must be at least 2 with several GPUs")), "{said}");
    }
}

#[test]
fn more_than_can_be_wired_is_refused_with_the_reason() {
    let said = Machine::load("apu4-c-l3", &["gpus=7".to_owned()]).err().expect("it is wrong").to_string();
    assert!(said.contains("gpus: the hub joins the 56 banks of all GPUs' L2 with the network"), "{said}");
    assert!(refused(&["gpu.arrays=300"]).contains("an element has 250 neighbours at most"));
    let said = refused(&["gpu.l2.size=512 GiB"]);
    assert!(said.contains("[gpu.l2] size: all caches of a machine can hold 512 MiB together"), "{said}");
}

//! Keys without effect are rejected if a person wrote them; the error names the change that would give them one.

use machine::{File, Machine, shipped};

fn changed(name: &str, changes: &[&str]) -> Result<Machine, String> {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    Machine::load(name, &changes).map_err(|error| error.to_string())
}

#[test]
fn a_change_without_effect_is_refused_and_the_change_that_gives_it_one_is_named() {
    // Machine, change without effect, reason, and the changes that give it an effect.
    let cases: &[(&str, &str, &str, &[&str])] = &[
        (
            "r9nano",
            "memory.dram.ranks=2",
            "memory.kind is \"fixed\"; set memory.kind to ddr3-1600, ",
            &["memory.kind=hbm"],
        ),
        (
            "r9nano-hbm",
            "memory.fixed.latency=9",
            "memory.kind is \"hbm\"; set memory.kind to fixed",
            &["memory.kind=fixed"],
        ),
        ("r9nano", "gpu.network.latency=2", "gpu.network.kind is \"direct\"; set", &["gpu.network.kind=crossbar"]),
        ("r9nano", "gpu.network.columns=2", "set gpu.network.kind to mesh", &["gpu.network.kind=mesh"]),
        ("apu-c-l3", "system.network.columns=2", "system.network.kind is \"ring\"", &["system.network.kind=mesh"]),
        (
            "apu-c-l3",
            "system.dma.ways=4",
            "system.copies is \"core\"; set system.copies to dma",
            &["system.copies=dma"],
        ),
        ("apu-c-l3", "cpu.mmu.flat=9", "cpu.mmu.kind is \"tables\"", &["cpu.mmu.kind=flat"]),
        ("apu-c-l3", "system.iommu.flat=9", "system.iommu.kind is \"tables\"", &["system.iommu.kind=flat"]),
        ("apu-c-l3", "system.iommu.ways=2", "system.iommu.entries is 0", &["system.iommu.entries=64"]),
        ("apu-c-l3", "cpu.core.jitter_seed=3", "cpu.core.jitter is 0", &["cpu.core.jitter=3"]),
        ("apu-c-l3", "host.call=2us", "the program runs on the machine's own cores", &[]),
        ("apu-c-l3", "wires.l2_memory.capacity=2", "set system.hub instead", &[]),
        (
            "r9nano",
            "memory.time_bits=16",
            "protocol is \"wb_nc\"; set protocol to halcone, gtsc",
            &["protocol=halcone"],
        ),
        ("mini-gtsc", "memory.tsu.ways=8", "set protocol to halcone", &["protocol=halcone", "memory.tsu.entries=64"]),
        ("hd7850", "system.slices=4", "the machine has no CPU", &[]),
        ("hd7850", "cpu.cores=4", "the machine has no CPU", &[]),
        ("hd7850", "gpu.mmu.kind=none", "the machine has no CPU", &[]),
        ("r9nano", "gpu.memory.ways=4", "set protocol to nmoesi, nmoesi_wb", &[]),
        ("mini-nmoesi", "gpu.memory.dram.ranks=2", "gpu.memory.kind is \"fixed\"", &["gpu.memory.kind=hbm"]),
    ];
    for (name, change, why, cause) in cases {
        let key = change.split('=').next().unwrap_or_default();
        let said = changed(name, &[change]).err().unwrap_or_else(|| panic!("{name} takes {change}"));
        assert!(said.starts_with(&format!("--set {change}: {key} has no effect: ")), "{said}");
        assert!(said.contains(why), "{said}");
        if !cause.is_empty() {
            let all: Vec<&str> = cause.iter().chain([change]).copied().collect();
            changed(name, &all).unwrap_or_else(|error| panic!("{name} with {all:?}: {error}"));
        }
    }
    let gone = changed("apu-c-l3", &["cpu.mmu.kind=none", "cpu.mmu.ways=2"]).err().expect("it is refused");
    assert!(
        gone.contains("cpu.mmu.ways has no effect: cpu.mmu.kind is \"none\"; set cpu.mmu.kind to tables, flat"),
        "{gone}"
    );
    let gone =
        changed("apu-c-l3", &["cpu.core.predictor=perfect", "cpu.core.btb_ways=2"]).err().expect("it is refused");
    assert!(gone.contains("cpu.core.predictor is \"perfect\"; set cpu.core.predictor to never, "), "{gone}");
    let gone = changed("mini-nmoesi", &["gpus=1", "gpu.memory.peer_transfer=false"]).err().expect("it is refused");
    assert!(gone.contains("gpus is 1; set gpus to 2 or more"), "{gone}");
}

#[test]
fn a_wrong_value_is_reported_rather_than_a_missing_effect() {
    let said = changed("r9nano", &["memory.dram.page=opened"]).err().expect("it is wrong");
    assert!(said.ends_with("[memory.dram] page: must be one of open, closed (did you mean 'open'?)"), "{said}");
    let said = changed("r9nano", &["memory.dram.pages=open"]).err().expect("it is wrong");
    assert!(said.contains("[memory.dram] has no key 'pages' (did you mean 'page'?)"), "{said}");
}

#[test]
fn a_file_s_key_without_effect_is_refused_unless_a_later_one_is_the_cause() {
    let folder = std::env::temp_dir().join(format!("cohesim-effect-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is a folder for temporary files");
    let (base, over) = (folder.join("base.toml"), folder.join("over.toml"));
    let write = |path: &std::path::Path, text: &str| std::fs::write(path, text).expect("the folder is ours");
    let load = |path: &std::path::Path, changes: &[&str]| {
        changed(path.to_str().expect("its name is plain"), changes)
            .map(|_| ())
            .map_err(|error| error.replace(&format!("{}/", folder.display()), ""))
    };
    write(&base, "extends = 'skeleton'\n\n[memory.dram]\nranks = 2\n");
    let said = load(&base, &[]).expect_err("it does nothing");
    assert!(said.starts_with("base.toml:4: memory.dram.ranks has no effect: memory.kind is \"fixed\"; "), "{said}");
    assert_eq!(load(&base, &["memory.kind=hbm"]), Ok(()));
    write(&base, "extends = 'skeleton'\nmemory.kind = 'hbm'\n[memory.dram]\nranks = 2\n");
    assert_eq!(load(&base, &[]), Ok(()));
    assert_eq!(load(&base, &["memory.kind=fixed"]), Ok(()), "a change need not take back what it makes idle");
    write(&over, &format!("extends = '{}'\nmemory.kind = 'fixed'\n", base.display()));
    assert_eq!(load(&over, &[]), Ok(()), "nor does a file that extends a machine");
    let said = load(&base, &["memory.dram.ranks=1", "memory.kind=fixed"]).expect_err("both are changes");
    assert!(said.starts_with("--set memory.dram.ranks=1: memory.dram.ranks has no effect"), "{said}");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn what_a_machine_shows_are_keys_with_an_effect() {
    for name in shipped() {
        let mut file = File::load(name, &[]).expect("it comes with cohesim");
        let machine = Machine::read(&mut file).expect("it comes with cohesim");
        assert_eq!(file.without_effect(), [], "{name}: its own file has keys without effect");
        let idle: Vec<String> = file
            .parameters()
            .into_iter()
            .filter(|it| it.without_effect.is_some())
            .map(|it| format!("{}.{}", it.section, it.key))
            .collect();
        let fixed = machine.memory.clock().is_none();
        assert_eq!(idle.contains(&"memory.dram.ranks".to_owned()), fixed, "{name}");
        assert_eq!(machine.resolved.contains("[memory.dram]"), !fixed, "{name}");
    }
}

#[test]
fn one_list_of_changes_can_be_tried_on_many_machines() {
    let changes = ["memory.dram.ranks=2".to_owned(), "gpus=2".to_owned()];
    let (machine, idle) = Machine::examine("skeleton", &changes).expect("it is right");
    assert_eq!(machine.gpus, 2);
    assert_eq!(idle.iter().map(|idle| idle.key.as_str()).collect::<Vec<_>>(), ["memory.dram.ranks"]);
    assert!(Machine::examine("r9nano-hbm", &changes).expect("it is right").1.is_empty());
}

//! Machine files made from parts: which layer overrides which, and the errors for wrong parts.

use machine::{File, Machine, Options, Stress, shipped, shipped_parts, stress};
use std::{collections::BTreeSet, fs, path::PathBuf};

/// A folder with files for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("cohesim-parts-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("parts")).expect("there is a folder for temporary files");
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("the folder is ours");
        }
        Self(folder)
    }

    fn load(&self, name: &str, changes: &[&str]) -> Result<Machine, String> {
        let path = self.0.join(name);
        let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
        let loaded = Machine::load(path.to_str().expect("its name is plain"), &changes);
        loaded.map_err(|error| error.to_string().replace(&format!("{}/", self.0.display()), ""))
    }

    fn refused(&self, name: &str) -> String {
        self.load(name, &[]).err().expect("it is wrong")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover folder does no harm.
        _ = fs::remove_dir_all(&self.0);
    }
}

fn changed(name: &str, changes: &[&str]) -> Result<Machine, String> {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    Machine::load(name, &changes).map_err(|error| error.to_string())
}

const REST: &str = "about = 'x'\nprotocol = 'wb_nc'\ngpus = 1\nmemory.part = 'fixed-100'\nwires.part = 'r9nano'\npartitions = { arrays = 0, l2 = 0 }\n";

#[test]
fn a_section_s_own_keys_win_over_its_part_and_changes_over_both() {
    let folder = Folder::new("own", &[("mine.toml", &format!("{REST}gpu = {{ part = 'hd7850', arrays = 3 }}\n"))]);
    let machine = folder.load("mine.toml", &["gpu.units_per_array=2"]).expect("it is right");
    assert_eq!((machine.arrays, machine.units_per_array, machine.banks.count), (3, 2, 4));
    assert_eq!(machine.clock.0, 800_000_000, "from the part");
    assert_eq!(machine.compute_unit.simds, 4, "from the part of the part of the part");
}

#[test]
fn a_part_that_is_named_later_wins_over_what_is_extended() {
    let gpu = |changes: &[&str]| {
        let machine = changed("r9nano", changes).expect("it is right");
        (machine.arrays, machine.banks.count, machine.clock.0)
    };
    assert_eq!(gpu(&["gpu.part=hd7850"]), (4, 4, 800_000_000));
    assert_eq!(gpu(&["gpu.arrays=7", "gpu.part=hd7850"]), (7, 4, 800_000_000), "keys win in any order");
    assert_eq!(gpu(&["gpu={part=\"hd7850\",arrays=7}"]), (7, 4, 800_000_000));
    let folder = Folder::new("later", &[("mine.toml", "extends = 'virtual-cache-gpu'\nmemory.part = 'hbm'\n")]);
    assert!(
        folder.load("mine.toml", &[]).is_ok(),
        "what the other machine says about fixed memory is idle by this file's will"
    );
    // Sections that the part lacks stay: an APU with another GPU still has its CPU.
    assert!(changed("apu-c-l3", &["gpu.part=hd7850"]).expect("it is right").cpu.is_some());
}

#[test]
fn parts_can_be_files_and_lie_in_each_other() {
    let files = [
        ("mine.toml", &*format!("{REST}gpu.part = './parts/a.toml'\n")),
        ("parts/a.toml", "part = './b.toml'\narrays = 5\n"),
        ("parts/b.toml", "part = 'r9nano'\narrays = 6\nunits_per_array = 3\n[compute_unit]\npart = 'c.toml'\n"),
        ("parts/c.toml", "simds = 2\n"),
    ];
    let folder = Folder::new("files", &files);
    let machine = folder.load("mine.toml", &[]).expect("it is right");
    assert_eq!((machine.arrays, machine.units_per_array, machine.compute_unit.simds), (5, 3, 2));
    fs::write(folder.0.join("parts/c.toml"), "\nsimds = 99\n").expect("the folder is ours");
    assert_eq!(folder.refused("mine.toml"), "parts/c.toml:2: [gpu.compute_unit] simds: can be 16 at most");
}

#[test]
fn a_machine_that_is_extended_can_lie_beside_the_file() {
    let files = [("mine.toml", "extends = './base.toml'\n"), ("base.toml", "extends = 'skeleton'\ngpu.arrays = 3\n")];
    let folder = Folder::new("beside", &files);
    assert_eq!(folder.load("mine.toml", &[]).expect("it is right").arrays, 3);
    fs::write(folder.0.join("base.toml"), "extends = './mine.toml'\n").expect("the folder is ours");
    assert!(folder.refused("mine.toml").ends_with("mine.toml' extends itself"), "{}", folder.refused("mine.toml"));
    fs::write(folder.0.join("base.toml"), "extends = './parts/../base.toml'\n").expect("the folder is ours");
    assert!(folder.refused("mine.toml").ends_with("base.toml' extends itself"), "in any spelling");
}

/// The example of `docs/machine-files.md`.
#[test]
fn cores_and_gpus_with_protocols_of_their_own_are_a_short_file() {
    let docs = include_str!("../../../docs/machine-files.md");
    let blocks = docs.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let machines: Vec<&str> = blocks.filter(|text| text.starts_with("about")).collect();
    assert!(!machines.is_empty(), "docs/machine-files.md has no machine of its own any more");
    for text in machines {
        let folder = Folder::new("docs", &[("mine.toml", text)]);
        assert!(text.lines().count() < 30);
        let machine = folder.load("mine.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let what = Stress { operations: 600, seed: 3, lines: 24, round: 100, outstanding: 4 };
        let run = stress(&machine, what, &Options { check: true, ..Options::default() });
        assert_eq!(run.outcome.to_string(), "finished", "{text}");
    }
}

#[test]
fn a_part_that_does_not_exist_or_is_for_another_section_is_refused_with_a_list_of_the_right_ones() {
    let refused = |change: &str| changed("r9nano", &[change]).err().expect("it is wrong");
    assert_eq!(
        refused("gpu.part=hd785"),
        "--set gpu.part=hd785: [gpu] part: there is no part 'hd785' for [gpu] (did you mean 'hd7850'?); parts for it: fiji, \
         halcone, hd7850, m2s-gcn, mgpusim, r9nano, virtual-cache, virtual-cache-128, or the path of a file"
    );
    assert!(
        refused("gpu.part=m2s-core").contains("there is no part 'm2s-core' for [gpu] (it is one for [cpu]); parts")
    );
    assert!(refused("gpu.part=3").contains("[gpu] part: names a part, in quotes; parts for it: fiji, "));
    assert!(refused("gpu.l2.part=big").contains("no parts for [l2] come with cohesim: write the path of a file"));
    assert!(refused("part=r9nano").contains("part: sections are made from parts (gpu.part, memory.part)"));
    assert!(refused("cpu.part=m2s-core").contains("[cpu] lacks the key 'cores'"));
    assert!(refused("gpu.part=/dev/zero").contains("/dev/zero: is longer than 1048576 B"));
    assert!(refused("gpu.part=./none.toml").starts_with("--set gpu.part=./none.toml: [gpu] part: ./none.toml: "));
    assert!(refused("extends=skeleton").contains("'extends' stands in a machine file"));
    let without_system = changed("skeleton", &["system.part=m2s-ring"]).err().expect("it is wrong");
    assert!(without_system.contains("system.part has no effect: the machine has no CPU"), "{without_system}");
}

#[test]
fn circles_of_parts_and_what_parts_can_t_say_are_refused_with_file_and_line() {
    let files = [
        ("mine.toml", &*format!("{REST}[gpu]\npart = './parts/a.toml'\n")),
        ("parts/a.toml", "arrays = 1\npart = '../parts/b.toml'\n"),
        ("parts/b.toml", "part = './a.toml'\n"),
        ("inner.toml", &*format!("{REST}[gpu]\npart = './parts/inner.toml'\n")),
        ("parts/inner.toml", "[inner]\npart = './inner.toml'\n"),
        ("extends.toml", &*format!("{REST}[gpu]\npart = './parts/extends.toml'\n")),
        ("parts/extends.toml", "\nextends = 'r9nano'\n"),
        ("value.toml", "extends = 'skeleton'\ngpu = 3\n"),
        ("array.toml", "extends = 'skeleton'\n[[gpu.l2]]\nsize = 3\n"),
        ("broken.toml", &*format!("{REST}[gpu]\npart = './parts/broken.toml'\n")),
        ("parts/broken.toml", "\n\narrays = = 3\n"),
    ];
    let folder = Folder::new("circles", &files);
    let said = folder.refused("mine.toml");
    assert!(said.contains("parts/b.toml:1: [gpu] part: ") && said.ends_with("a.toml' is a part of itself"), "{said}");
    let said = folder.refused("inner.toml");
    assert!(said.contains("inner.toml:2: [gpu.inner] part: ") && said.ends_with("is a part of itself"), "{said}");
    let said = folder.refused("extends.toml");
    assert!(said.contains("extends.toml:2: a part does not extend a machine"), "{said}");
    assert_eq!(folder.refused("value.toml"), "value.toml:2: 'gpu' is a section, not a value");
    assert_eq!(folder.refused("array.toml"), "array.toml:2: 'l2' is a section, not a value");
    assert!(folder.refused("broken.toml").contains("broken.toml:3: "), "{}", folder.refused("broken.toml"));
}

#[test]
fn a_mistake_within_a_part_is_reported_with_the_part_s_file_and_line() {
    let places: BTreeSet<String> =
        File::load("r9nano", &[]).expect("it is shipped").parameters().into_iter().map(|it| it.place).collect();
    assert!(places.contains("gpu/r9nano:4") && places.contains("compute_unit/gcn3:3"), "{places:?}");
    let said = changed("r9nano", &["gpus=2", "protocol=hmg", "gpu.l2.mshrs=1"]).err().expect("it is wrong");
    assert!(said.starts_with("--set gpu.l2.mshrs=1: [gpu.l2] mshrs: must be at least 2"), "{said}");
    let said = changed("r9nano", &["gpu.arrays=300"]).err().expect("it is wrong");
    assert!(said.starts_with("--set gpu.arrays=300: [gpu] arrays: a bank of the L2 is wired to"), "{said}");
    let said = changed("r9nano", &["gpu.l2.ways=3"]).err().expect("it is wrong");
    let part = include_str!("../../../machines/parts/gpu/r9nano.toml");
    let line = 1 + part.lines().position(|line| line.starts_with("size = \"2 MiB\"")).expect("the L2 has a size");
    assert!(said.starts_with(&format!("gpu/r9nano:{line}: [gpu.l2] size: ")), "{said}");
}

#[test]
fn a_machine_in_one_file_is_the_machine() {
    for name in shipped() {
        let machine = Machine::load(name, &[]).expect("it comes with cohesim");
        let folder = Folder::new(&format!("whole-{name}"), &[("mine.toml", &machine.resolved)]);
        let again = folder.load("mine.toml", &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again.resolved, machine.resolved, "{name}");
    }
}

#[test]
fn every_part_is_used_by_a_machine() {
    let files = shipped().flat_map(|name| File::load(name, &[]).expect("it comes with cohesim").remarks());
    let used: BTreeSet<String> = files.map(|remark| remark.about).collect();
    for (section, name) in shipped_parts() {
        assert!(used.contains(&format!("{section}/{name}")), "{section}/{name} is used by none of {used:?}");
    }
}

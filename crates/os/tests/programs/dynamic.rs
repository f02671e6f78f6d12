//! Dynamically linked programs, with the loader and libraries of this computer. Needs a compiler, like `compiled.rs`.

use crate::{
    compiled::compile,
    support::{Folder, Outcome, run_program},
};
use os::{
    Options, Process,
    files::{Mount, UsedFiles},
};
use std::path::Path;

/// The usual library folders, mounted read-only.
fn libraries() -> Vec<Mount> {
    let folders = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"].into_iter().filter(|folder| Path::new(folder).is_dir());
    folders.map(|folder| Mount { host: folder.into(), guest: Some(folder.into()), writable: false }).collect()
}

fn run_dynamic(program: &[u8], arguments: &[&str], folder: &Folder) -> Outcome {
    run_program(program, arguments, |options| {
        options.mounts = libraries();
        options.mounts.push(folder.mount("/here", false));
        options.folder = "/here".into();
    })
}

const THREADS: (&str, &str) = (
    "threads.c",
    r#"
    #include <math.h>
    #include <pthread.h>
    #include <stdio.h>
    static __thread int mine;
    static int sum;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static void *work(void *step) {
        for (int i = 0; i < 100; i++) mine += (int)(long)step;
        pthread_mutex_lock(&lock);
        sum += mine;
        pthread_mutex_unlock(&lock);
        return 0;
    }
    int main(int argc, char **argv) {
        pthread_t threads[4];
        for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        volatile double two = 2;
        printf("%s: sum %d, mine %d, root %.4f\n", argv[0], sum, mine, sqrt(two));
        return 0;
    }
    "#,
);

#[test]
fn threads_of_glibc_and_of_musl_run_with_their_shared_libraries() {
    for (compiler, options) in
        [("gcc", &["-pthread", "-lm"][..]), ("gcc", &["-no-pie", "-pthread", "-lm"]), ("musl-gcc", &[])]
    {
        let folder = Folder::new("dynamic");
        let Some(program) = compile(&folder, compiler, THREADS, options) else { continue };
        let out = run_dynamic(&program, &[], &folder).good();
        assert_eq!(out, "guest: sum 1000, mine 0, root 1.4142\n", "{compiler} {options:?}");
    }
}

#[test]
fn a_program_loads_a_library_while_it_runs() {
    let folder = Folder::new("dlopen");
    let plugin = "__thread int tls = 41; int answer(void) { return ++tls; }";
    let Some(bytes) = compile(&folder, "gcc", ("plugin.c", plugin), &["-shared", "-fPIC"]) else { return };
    std::fs::write(folder.path().join("plugin.so"), bytes).unwrap();
    let source = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int argc, char **argv) {
            void *library = dlopen(argv[1], RTLD_NOW);
            if (!library) return puts(dlerror()), 1;
            int (*answer)(void) = (int (*)(void))dlsym(library, "answer");
            printf("%d, %s\n", answer(), dlopen("./none.so", RTLD_NOW) ? "found" : "not found");
            return dlclose(library);
        }
    "#;
    let Some(program) = compile(&folder, "gcc", ("dlopen.c", source), &["-ldl"]) else { return };
    assert_eq!(run_dynamic(&program, &["./plugin.so"], &folder).good(), "42, not found\n");
}

#[test]
fn loader_and_libraries_are_noted_with_what_is_in_them() {
    let folder = Folder::new("used");
    let Some(program) = compile(&folder, "gcc", THREADS, &["-pthread", "-lm"]) else { return };
    let used = UsedFiles::default();
    let noted = used.clone();
    let outcome = run_program(&program, &[], |options| {
        options.mounts = libraries();
        options.files_used = Some(noted);
    });
    outcome.good();
    let list = used.list();
    for name in ["ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6"] {
        assert!(list.iter().any(|(path, _)| path.contains(name.split(".so").next().unwrap())), "{name} of {list:?}");
    }
    assert!(list.windows(2).all(|pair| pair[0].1 != pair[1].1), "each has a hash of its own");
}

/// Why a program is rejected if it sees a folder besides the libraries.
fn refusal(program: &[u8], folder: &Folder) -> Option<String> {
    let mut options = Options::new("/guest");
    options.mounts = libraries();
    options.mounts.push(folder.mount("/here", false));
    Process::start(program, options).err().map(|error| error.to_string())
}

/// The offset of the program header of a type.
fn header(program: &[u8], kind: u32) -> usize {
    let word = |at: usize| u64::from_le_bytes(program[at..at + 8].try_into().unwrap());
    let (first, count) = (word(32) as usize, u16::from_le_bytes([program[56], program[57]]) as usize);
    let headers = (0..count).map(|number| first + number * 56);
    headers.into_iter().find(|at| program[*at..at + 4] == kind.to_le_bytes()).expect("it has one")
}

const LOAD: u32 = 1;
const INTERP: u32 = 3;

/// The program with another loader path, which must not be longer than the original.
fn with_loader(program: &[u8], path: &[u8]) -> Vec<u8> {
    let (mut changed, at) = (program.to_vec(), header(program, INTERP));
    let place = u64::from_le_bytes(program[at + 8..at + 16].try_into().unwrap()) as usize;
    changed[place..place + path.len()].copy_from_slice(path);
    changed[at + 32..at + 40].copy_from_slice(&(path.len() as u64).to_le_bytes());
    changed
}

#[test]
fn a_loader_that_can_not_be_used_is_named_with_the_reason() {
    let folder = Folder::new("loaders");
    let Some(program) = compile(&folder, "gcc", THREADS, &["-pthread", "-lm"]) else { return };
    let said = |path: &[u8]| refusal(&with_loader(&program, path), &folder).unwrap_or_else(|| "it started".into());
    assert!(said(b"/none\0").contains("it needs /none): link it with -static, or"), "{}", said(b"/none\0"));
    assert!(said(b"/none\0").contains("--host-libraries") && said(b"/none\0").contains("--root DIR"));
    assert!(said(b"/proc/self/maps\0").contains("it needs /proc/self/maps"));
    for no_path in [&b"/none"[..], b"\0", b"", b"/a\0b\0"] {
        assert!(said(no_path).contains("the path of its loader is not a valid path"), "{no_path:?}");
    }
    assert!(said(b"/here\0").contains("'/here', can't be used"), "{}", said(b"/here\0"));
    folder.write("text", "no ELF file");
    assert!(said(b"/here/text\0").contains("it is not an ELF file"));
    assert!(said(b"/here/program\0").contains("it needs a loader itself"), "{}", said(b"/here/program\0"));
    let mut outside = program.clone();
    let at = header(&program, INTERP);
    outside[at + 8..at + 16].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(refusal(&outside, &folder).unwrap().contains("the path of its loader lies outside it"));
}

#[test]
fn no_damage_of_a_loader_makes_the_kernel_panic() {
    let folder = Folder::new("damage");
    let Some(program) = compile(&folder, "gcc", THREADS, &["-pthread", "-lm"]) else { return };
    let loader = std::fs::read("/lib64/ld-linux-x86-64.so.2").expect("gcc has linked the program with this loader");
    let program = with_loader(&program, b"/here/ld\0");
    let started = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut loader = loader.clone();
        change(&mut loader);
        std::fs::write(folder.path().join("ld"), &loader).unwrap();
        refusal(&program, &folder)
    };
    assert_eq!(started(&|_| {}), None);
    let load = header(&loader, LOAD);
    let set =
        |at: usize, value: u64| move |loader: &mut Vec<u8>| loader[at..at + 8].copy_from_slice(&value.to_le_bytes());
    // Invalid p_memsz and p_vaddr, and a second segment that overlaps the first.
    for huge in [1 << 40, 1 << 46, u64::MAX, u64::MAX - 4096] {
        assert!(started(&set(load + 40, huge)).is_some(), "{huge:#x} bytes are too many");
    }
    for outside in [1 << 47, u64::MAX, u64::MAX - 4096] {
        assert!(started(&set(load + 16, outside)).is_some(), "{outside:#x} lies outside");
    }
    assert!(started(&set(load + 56 + 16, 0)).unwrap().contains("two segments overlap"));
    assert!(started(&set(24, 0x10)).unwrap().contains("its entry point lies outside its code"));
    for place in (0..64).chain(load..load + 112) {
        for value in [0, 0x7f, 0xff] {
            // Any outcome is fine, except a panic.
            let _ = started(&|loader| loader[place] = value);
        }
    }
}

#[test]
fn the_error_for_a_program_for_a_newer_processor_names_the_simulated_one() {
    let folder = Folder::new("level");
    let options = ["-static", "-Wl,-z,x86-64-v3"];
    let Some(program) = compile(&folder, "gcc", THREADS, &[&options[..], &["-pthread", "-lm"]].concat()) else {
        return;
    };
    let said = refusal(&program, &folder).expect("it needs AVX2");
    assert!(said.contains("needs x86-64-v3; cohesim's CPU is an x86-64-v2"), "{said}");
}

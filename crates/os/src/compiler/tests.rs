//! Tests of the compiler's interface: what it builds, and what it can't be made to do.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::*;
use crate::files::Mount;

/// A temporary folder for one test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cohesim-compiler-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const KERNEL: &str = "\n__kernel void k(__global int *p) { p[0] = 1; }\n";

/// The view of a program that has a folder mounted at `/data` and works there.
fn shown(folder: &Path) -> View {
    let mount = Mount { host: folder.into(), guest: Some("/data".into()), writable: true };
    View::of(&[mount], Path::new("/data")).unwrap()
}

fn compiler(cache: Option<&Path>, view: Option<View>) -> Compiler {
    let mut compiler =
        Compiler::new(Settings { cache: cache.map(Path::to_owned), ..Settings::default() }, &Monitor::default());
    view.into_iter().for_each(|view| compiler.see(view));
    compiler
}

fn build(source: &str, options: &str, view: Option<View>) -> Result<Built, CompileError> {
    let options = Options::parse(options, Purpose::Build).unwrap();
    compiler(None, view).make(&Job::Build { source: source.as_bytes() }, &options)
}

/// A source line that includes a file's bytes in the code object.
fn incbin(file: &Path) -> String {
    format!("__asm__(\".section .data\\n.incbin \\\"{}\\\"\\n.previous\");\n", file.display())
}

/// Whether `part` occurs in `bytes`.
fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_source_can_not_read_files_that_its_program_can_not_see() {
    let place = Place::new("wall");
    let secret = place.file("outside/secret.h", "#error SECRET-TEXT\n");
    let folder = place.file("shown/fine.h", "int fine;\n").parent().unwrap().to_owned();
    std::os::unix::fs::symlink(&secret, folder.join("link.h")).unwrap();
    let path = secret.display();
    let up = "../".repeat(30);
    let tricks = [
        format!("#include \"{path}\""),
        format!("#include <{up}{}>", path.to_string().trim_start_matches('/')),
        "#include \"/etc/passwd\"".into(),
        format!("#include <{up}etc/passwd>"),
        "#include \"../outside/secret.h\"".into(),
        "#include \"link.h\"".into(),
        incbin(&secret),
        "__constant char leak[] = {\n#embed \"/etc/passwd\"\n};".into(),
        "#include \"/proc/self/environ\"".into(),
    ];
    for trick in tricks {
        match build(&format!("{trick}{KERNEL}"), "", Some(shown(&folder))) {
            Err(CompileError::Refused { log }) => {
                assert!(!log.contains("SECRET-TEXT") && !log.contains("root:"), "{trick}: {log}");
            }
            other => panic!("{trick}: {other:?}"),
        }
    }
}

#[test]
fn a_source_can_not_read_the_computer_s_libraries_nor_find_out_what_is_there() {
    let place = Place::new("host");
    let files = ["/etc/ld.so.cache", "/usr/lib/os-release", "/etc/os-release", "/lib/x86_64-linux-gnu/libresolv.so.2"];
    let there: Vec<&str> = files.into_iter().filter(|file| Path::new(file).exists()).collect();
    assert!(!there.is_empty());
    let asked = |file: &&str| format!("#if __has_include(\"{file}\")\n#error it is there\n#endif\n");
    let read = |file: &&str| incbin(Path::new(file));
    let source: String = there.iter().map(asked).chain(there.iter().map(read)).chain([KERNEL.into()]).collect();
    let Err(CompileError::Refused { log }) = build(&source, "", Some(shown(&place.0))) else { panic!("{source}") };
    assert!(!log.contains("it is there"), "{log}");
    assert!(there.iter().all(|file| log.contains(&format!("Could not find incbin file '{file}'"))), "{log}");
}

#[test]
fn moving_folders_and_putting_links_in_their_place_shows_nothing_more() {
    let place = Place::new("moved");
    let secret = place.file("outside/inc/s.h", "SECRET-TEXT\n").canonicalize().unwrap();
    let inside = place.file("shown/inc/s.h", "#define FINE 1\n");
    let view = shown(&place.0.join("shown"));
    // A program with a writable mount can do this: the path that a build uses now leads elsewhere.
    fs::rename(place.0.join("shown"), place.0.join("gone")).unwrap();
    std::os::unix::fs::symlink(place.0.join("outside"), place.0.join("shown")).unwrap();
    assert_eq!(fs::read_to_string(&inside).unwrap(), "SECRET-TEXT\n", "by its path, it is the other file");
    assert!(build(&format!("#include \"s.h\"{KERNEL}"), "-I inc", Some(view.clone())).is_ok());
    for path in [&secret, &inside] {
        let trick = incbin(path) + KERNEL;
        let made = build(&trick, "", Some(view.clone()));
        assert!(matches!(made, Err(CompileError::Refused { .. })), "{path:?}: {made:?}");
    }
    std::os::unix::fs::symlink("/", place.0.join("gone/root")).unwrap();
    let trick = format!("#include \"root{}\"{KERNEL}", secret.display());
    assert!(build(&trick, "-I root", Some(view)).is_err());
}

#[test]
fn headers_of_the_program_are_found_and_logs_name_them_as_it_does() {
    let place = Place::new("headers");
    place.file("inc/scale.h", "#include \"deep/er.h\"\n#define SCALE DEEP\n");
    place.file("inc/deep/er.h", "#include \"../up.h\"\n#define DEEP UP\n");
    place.file("inc/up.h", "#define UP 3\n");
    place.file("near.h", "#define NEAR 4\n");
    place.file("wrong.h", "int f(void) { return nothing; }\n");
    let view = || Some(shown(&place.0));
    let source = "#include \"scale.h\"\n#include \"near.h\"\n__kernel void k(__global int *p) { p[0] = SCALE * NEAR; }";
    for options in ["-I /data/inc", "-I inc", "-Iinc -w"] {
        assert!(build(source, options, view()).unwrap().bytes.starts_with(b"\x7fELF"), "{options}");
    }
    for other in [
        "#include \"/data/near.h\"",
        "#define TEXT(x) #x\n#define NAME(x) TEXT(x.h)\n#include NAME(near)\n#include NAME(inc/up)",
        "#if __has_include(\"near.h\")\n#include \"near.h\"\n#endif",
    ] {
        let source = format!("{other}\n__kernel void k(__global int *p) {{ p[0] = NEAR; }}");
        assert!(build(&source, "", view()).is_ok(), "{other}");
    }
    let Err(CompileError::Refused { log }) = build(&format!("#include \"wrong.h\"{KERNEL}"), "", view()) else {
        panic!("a header with a fault");
    };
    assert!(log.contains("/data/wrong.h:1:22: error:"), "{log}");
    assert!(!log.contains(&*place.0.to_string_lossy()), "{log}");
}

#[test]
fn what_was_compiled_is_found_again_unless_a_header_changed() {
    let place = Place::new("cache");
    let cache = place.0.join("kept");
    place.file("src/n.h", "#define N 1\n");
    // The name is built by macros: no search of the text finds it.
    let source = b"#define TEXT(x) #x\n#define NAME(x) TEXT(x.h)\n#include NAME(n)\n\
        __kernel void k(__global int *p) { p[0] = N; }";
    let options = Options::default();
    let kept = || fs::read_dir(&cache).unwrap().count();
    let make = |view| compiler(Some(&cache), view).make(&Job::Build { source }, &options);
    let view = || Some(shown(&place.0.join("src")));
    let first = make(view()).unwrap();
    assert_eq!(kept(), 1);
    assert_eq!(make(view()).unwrap(), first);
    assert_eq!(kept(), 1);
    assert!(make(None).is_err(), "a program that can't read the header does not get what was made with it");
    place.file("src/n.h", "#define N 2\n");
    let other = make(view()).unwrap();
    assert_eq!(kept(), 2);
    assert_ne!(other.bytes, first.bytes);
}

#[test]
fn sources_get_the_time_of_no_clock() {
    let source = "__kernel void k(__global char *p, int n) {\n\
        const __constant char *t = __DATE__ \" \" __TIME__ \" \" __TIMESTAMP__; p[n] = t[n]; }";
    let bytes = build(source, "", None).unwrap().bytes;
    let expected = "Jan  1 1970 00:00:00 Thu Jan  1 00:00:00 1970";
    assert!(holds(&bytes, expected.as_bytes()), "{}", String::from_utf8_lossy(&bytes));
}

/// Includes itself twice, to a depth of 100: preprocessing never ends.
const ENDLESS: &str = "#if __INCLUDE_LEVEL__ < 100\n#include \"self.h\"\n#include \"self.h\"\n#endif\n";

#[test]
fn a_build_ends_when_the_simulation_is_stopped() {
    let place = Place::new("stopped");
    place.file("self.h", ENDLESS);
    let monitor = Monitor::default();
    let mut compiler = Compiler::new(Settings { cache: None, ..Settings::default() }, &monitor);
    compiler.see(shown(&place.0));
    monitor.stop();
    let source = format!("#include \"self.h\"{KERNEL}");
    let made = compiler.make(&Job::Build { source: source.as_bytes() }, &Options::default());
    assert_eq!(made, Err(CompileError::Interrupted));
}

#[test]
fn what_comes_out_is_no_larger_than_it_may_be() {
    let source = format!("__asm__(\".section .data\\n.zero 100000000\\n\");{KERNEL}");
    assert!(matches!(build(&source, "", None), Err(CompileError::Refused { .. })));
}

#[test]
fn what_is_missing_is_named() {
    let missing = |settings: Settings| {
        let job = Job::Build { source: b"__kernel void k() {}" };
        Compiler::new(settings, &Monitor::default()).make(&job, &Options::default()).unwrap_err().to_string()
    };
    let text = missing(Settings { clang: "/no/clang".into(), ..Settings::default() });
    assert!(text.contains("'/no/clang' is not installed; on Debian: apt install clang-19 lld-19 rocm-device-libs"));
    let text = missing(Settings { device_libs: "/no/libs".into(), ..Settings::default() });
    assert!(text.contains("not in '/no/libs'; on Debian: apt install rocm-device-libs"), "{text}");
}

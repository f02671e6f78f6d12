//! The compiler from outside: what it makes, and what it can't be made to do.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::*;

/// A folder for one test.
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

fn compiler(cache: Option<&Path>) -> Compiler {
    Compiler::new(Settings { cache: cache.map(Path::to_owned), ..Settings::default() })
}

fn build(source: &str, options: &str, folders: &[Folder]) -> Result<Built, CompileError> {
    let options = Options::parse(options, Purpose::Build).unwrap();
    compiler(None).make(&Job::Build { source: source.as_bytes() }, &options, folders)
}

#[test]
fn a_source_can_not_read_files_that_its_program_can_not_see() {
    let place = Place::new("wall");
    let secret = place.file("outside/secret.h", "#error SECRET-TEXT\n");
    let shown = place.file("shown/fine.h", "int fine;\n").parent().unwrap().to_owned();
    std::os::unix::fs::symlink(&secret, shown.join("link.h")).unwrap();
    let folders = [Folder { host: shown, guest: "/data".into() }];
    let path = secret.display();
    let up = "../".repeat(30);
    let tricks = [
        format!("#include \"{path}\""),
        format!("#include <{up}{}>", path.to_string().trim_start_matches('/')),
        "#include \"/etc/passwd\"".into(),
        format!("#include <{up}etc/passwd>"),
        "#include \"../outside/secret.h\"".into(),
        "#include \"link.h\"".into(),
        format!("__asm__(\".incbin \\\"{path}\\\"\");"),
        "__constant char leak[] = {\n#embed \"/etc/passwd\"\n};".into(),
        "#include \"/proc/self/environ\"".into(),
        "#if __has_include(\"/etc/passwd\")\n#include \"/etc/passwd\"\n#else\n#error not there\n#endif".into(),
    ];
    for trick in tricks {
        let source = format!("{trick}\n__kernel void k(__global int *p) {{ p[0] = 1; }}");
        match build(&source, "", &folders) {
            Err(CompileError::Refused { log }) => {
                assert!(!log.contains("SECRET-TEXT") && !log.contains("root:"), "{trick}: {log}");
            }
            other => panic!("{trick}: {other:?}"),
        }
    }
}

#[test]
fn headers_of_the_program_are_found_and_logs_name_them_as_it_does() {
    let place = Place::new("headers");
    place.file("inc/scale.h", "#define SCALE 3\n");
    place.file("near.h", "#define NEAR 4\n");
    place.file("wrong.h", "int f(void) { return nothing; }\n");
    let folders = [Folder { host: place.0.clone(), guest: "/data".into() }];
    let source = "#include \"scale.h\"\n#include \"near.h\"\n__kernel void k(__global int *p) { p[0] = SCALE * NEAR; }";
    for options in ["-I /data/inc", "-I inc", "-Iinc -w"] {
        assert!(build(source, options, &folders).unwrap().bytes.starts_with(b"\x7fELF"), "{options}");
    }
    let Err(CompileError::Refused { log }) = build("#include \"wrong.h\"\n__kernel void k() {}", "", &folders) else {
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
    let folders = [Folder { host: place.0.join("src"), guest: "/data".into() }];
    let source = b"#include \"n.h\"\n__kernel void k(__global int *p) { p[0] = N; }";
    let options = Options::default();
    let kept = || fs::read_dir(&cache).unwrap().count();
    let first = compiler(Some(&cache)).make(&Job::Build { source }, &options, &folders).unwrap();
    assert_eq!(kept(), 1);
    assert_eq!(compiler(Some(&cache)).make(&Job::Build { source }, &options, &folders).unwrap(), first);
    assert_eq!(kept(), 1);
    place.file("src/n.h", "#define N 2\n");
    let other = compiler(Some(&cache)).make(&Job::Build { source }, &options, &folders).unwrap();
    assert_eq!(kept(), 2);
    assert_ne!(other.bytes, first.bytes);
}

#[test]
fn what_is_missing_is_named() {
    let missing = |settings: Settings| {
        let job = Job::Build { source: b"__kernel void k() {}" };
        Compiler::new(settings).make(&job, &Options::default(), &[]).unwrap_err().to_string()
    };
    let text = missing(Settings { clang: "/no/clang".into(), ..Settings::default() });
    assert!(text.contains("'/no/clang' is not installed; on Debian: apt install clang-19 lld-19 rocm-device-libs"));
    let text = missing(Settings { device_libs: "/no/libs".into(), ..Settings::default() });
    assert!(text.contains("not in '/no/libs'; on Debian: apt install rocm-device-libs"), "{text}");
}

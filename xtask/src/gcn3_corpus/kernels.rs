//! Whole kernels: compiled by clang, disassembled by `llvm-objdump`.

use std::{ffi::OsStr, fs, path::Path};

use super::{Put, llvm};

const DEVICE_LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

/// Generates `name.txt` for every `name.cl` in the folder; returns the number of instructions.
///
/// The first line of a source may give options for clang after `// options:`.
pub fn run(folder: &Path, put: Put) -> Result<usize, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut sources: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    sources.retain(|path| path.extension() == Some(OsStr::new("cl")));
    sources.sort();
    let mut instructions = 0;
    for source in sources {
        let listing = disassembly(&source)?;
        instructions += listing.lines().count();
        put(&source.with_extension("txt"), &listing)?;
    }
    Ok(instructions)
}

fn disassembly(source: &Path) -> Result<String, String> {
    let object = std::env::temp_dir().join(format!("gcn3-corpus-{}.hsaco", std::process::id()));
    let text = fs::read_to_string(source).map_err(|e| format!("{}: {e}", source.display()))?;
    let options = text.lines().next().and_then(|line| line.strip_prefix("// options:")).unwrap_or("-O2");
    let library = format!("--rocm-device-lib-path={DEVICE_LIBRARIES}");
    let fixed = "-x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu=gfx803 -mcode-object-version=5";
    let arguments = fixed.split(' ').chain(options.split_whitespace()).map(OsStr::new).chain([
        OsStr::new(&library),
        source.as_os_str(),
        OsStr::new("-o"),
        object.as_os_str(),
    ]);
    llvm::run_well("clang-19", arguments)?;
    let arguments = [OsStr::new("-d"), OsStr::new("--mcpu=gfx803"), object.as_os_str()];
    let listing = llvm::run_well("llvm-objdump-19", arguments);
    let removed = fs::remove_file(&object).map_err(|e| format!("{}: {e}", object.display()));
    let listing = listing?;
    removed?;

    // A line has the form `text // address: words <target>`.
    let mut out = String::new();
    for line in listing.lines() {
        let Some((text, comment)) = line.split_once("//") else { continue };
        let Some((_address, words)) = comment.split_once(':') else { continue };
        let words: Vec<String> =
            words.split_whitespace().take_while(|word| !word.starts_with('<')).map(str::to_lowercase).collect();
        out += &format!("{}\t{}\n", words.join(" "), llvm::spaces_squeezed(text));
    }
    Ok(out)
}

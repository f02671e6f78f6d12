//! The allowed options of `clBuildProgram`, `clCompileProgram` and `clLinkProgram`.
//!
//! clang has options that read and write files and load code. Options that are not listed here never reach it.

use thiserror::Error;

use super::flags;

/// The function that the options are passed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Build,
    Compile,
    Link,
}

/// Why options were rejected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OptionError {
    #[error("error: unknown option '{0}'")]
    Unknown(String),
    #[error("error: option '{0}' needs a value")]
    NoValue(String),
    #[error("error: a quotation mark in the options is not closed")]
    Quote,
}

/// Options that have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Passed to clang unchanged.
    pub flags: Vec<String>,
    /// Include folders, as the program names them.
    pub include: Vec<String>,
    pub standard: String,
    /// `-create-library`.
    pub library: bool,
    pub optimisation: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            flags: Vec::new(),
            include: Vec::new(),
            standard: flags::STANDARD.into(),
            library: false,
            optimisation: flags::OPTIMISATION.into(),
        }
    }
}

/// Options of the OpenCL standard that clang accepts under the same name.
const PASSED: [&str; 12] = [
    "-w",
    "-Werror",
    "-cl-single-precision-constant",
    "-cl-denorms-are-zero",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-mad-enable",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-fast-relaxed-math",
    "-cl-strict-aliasing",
    "-cl-uniform-work-group-size",
];

/// Options that are accepted and have no effect here.
const IGNORED: [&str; 7] = [
    "-g",
    "-cl-kernel-arg-info",
    "-cl-no-subgroup-ifp",
    "-cl-nv-verbose",
    "-save-temps",
    "-cl-opt-enable",
    "-enable-link-options",
];

const STANDARDS: [&str; 6] = ["CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0", "CLC++"];

impl Options {
    /// Parses and checks a string of options.
    pub fn parse(text: &str, purpose: Purpose) -> Result<Options, OptionError> {
        let mut options = Options::default();
        let mut words = split(text)?.into_iter();
        while let Some(word) = words.next() {
            let mut value = |joined: &str| match joined {
                "" => words.next().ok_or_else(|| OptionError::NoValue(word.clone())),
                joined => Ok(joined.to_owned()),
            };
            if let Some(joined) = word.strip_prefix("-D") {
                let value = value(joined)?;
                options.flags.push(format!("-D{value}"));
            } else if let Some(joined) = word.strip_prefix("-U") {
                let value = value(joined)?;
                options.flags.push(format!("-U{value}"));
            } else if let Some(joined) = word.strip_prefix("-I") {
                let value = value(joined)?;
                options.include.push(value);
            } else if let Some(standard) = word.strip_prefix("-cl-std=") {
                if !STANDARDS[..5].contains(&standard) {
                    return Err(OptionError::Unknown(word));
                }
                options.standard = standard.to_owned();
            } else if PASSED.contains(&word.as_str()) || is_warning(&word) {
                options.flags.push(word);
            } else if word == "-cl-opt-disable" {
                options.optimisation = "-O0".into();
            } else if ["-O0", "-O1", "-O2", "-O3"].contains(&word.as_str()) {
                options.optimisation = word;
            } else if word == "-create-library" && purpose == Purpose::Link {
                options.library = true;
            } else if !IGNORED.contains(&word.as_str()) && !is_nv_number(&word) {
                return Err(OptionError::Unknown(word));
            }
        }
        Ok(options)
    }
}

impl Options {
    /// Compiles for work-groups of up to 1024 work-items; clang's default is at most 256.
    pub fn widen(&mut self) {
        for keyword in ["__kernel", "kernel"] {
            self.flags.push(format!("-D{keyword}=__attribute__((amdgpu_flat_work_group_size(1, 1024))) __kernel"));
        }
    }
}

/// Whether a word is a warning option such as `-Wall` or `-Wno-unused`. Commas and equals signs, by which `-W` passes
/// options to other tools, are not allowed.
fn is_warning(word: &str) -> bool {
    let name = word.strip_prefix("-W").unwrap_or_default();
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Whether a word is a register or optimisation limit for NVIDIA's compiler.
fn is_nv_number(word: &str) -> bool {
    ["-cl-nv-maxrregcount=", "-cl-nv-opt-level="]
        .iter()
        .any(|name| word.strip_prefix(name).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())))
}

/// Splits at spaces, except inside quotation marks and after a backslash.
fn split(text: &str) -> Result<Vec<String>, OptionError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(OptionError::Quote);
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, OptionError> {
        Options::parse(text, Purpose::Build)
    }

    #[test]
    fn options_of_the_standard_are_taken() {
        let options = parse("-DN=4 -D M -I . -I\"a b\" -cl-std=CL2.0 -w -cl-fast-relaxed-math -g").unwrap();
        assert_eq!(options.flags, ["-DN=4", "-DM", "-w", "-cl-fast-relaxed-math"]);
        assert_eq!(options.include, [".", "a b"]);
        assert_eq!(options.standard, "CL2.0");
        assert_eq!(parse("").unwrap(), Options::default());
        assert_eq!(parse("-cl-opt-disable").unwrap().optimisation, "-O0");
        assert_eq!(parse(r#"-DTEXT=\"x\" -D 'A=b c'"#).unwrap().flags, ["-DTEXT=\"x\"", "-DA=b c"]);
    }

    #[test]
    fn what_is_not_on_the_list_is_refused() {
        for bad in [
            "-fplugin=/tmp/x.so",
            "@/etc/passwd",
            "-Xclang -load",
            "-include /etc/passwd",
            "-Wa,/etc/passwd",
            "-Wl,-T,/etc/passwd",
            "-Wp,@x",
            "-o /tmp/x",
            "-isystem /",
            "--config=/etc/x",
            "-imacros /etc/passwd",
            "-x c",
            "/etc/passwd",
            "-cl-std=CL9",
            "-v",
            "-create-library",
            "-B/tmp",
            "-MF/tmp/x",
        ] {
            assert!(matches!(parse(bad), Err(OptionError::Unknown(_))), "{bad}");
        }
        assert_eq!(parse("-D"), Err(OptionError::NoValue("-D".into())));
        assert_eq!(parse("-D \"x"), Err(OptionError::Quote));
        assert!(Options::parse("-create-library", Purpose::Link).unwrap().library);
    }
}

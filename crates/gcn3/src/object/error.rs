//! Errors of code objects, with advice where possible.

/// Why a code object was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    #[error("this is {found}, not a code object; {advice}")]
    NotAnObject { found: String, advice: String },
    #[error("the file ends too early or is damaged: {what} ({detail}); a whole gfx803 code object is needed")]
    Damaged { what: String, detail: String },
    #[error("the code object is for {found}, but cohesim runs gfx803: compile with -mcpu=gfx803, or use `cohesim cc`")]
    Target { found: String },
    #[error(
        "the code object is for {found}, whose kernels find their arguments elsewhere; the system must be HSA: \
         compile with -target amdgcn-amd-amdhsa, or use `cohesim cc`"
    )]
    System { found: String },
    #[error(
        "code object version {found} is not known; versions 2 to 6 are (ask the compiler for -mcode-object-version=5)"
    )]
    Version { found: String },
    #[error("the code object holds no kernel named '{name}'; it holds {}", list(.known))]
    NoSuchKernel { name: String, known: Vec<String> },
    #[error("kernel '{kernel}': its descriptor is cut off; the file is damaged")]
    DescriptorCut { kernel: String },
    #[error("kernel '{kernel}': amd_kernel_code_t version {version} is not known; version 1 is")]
    KernelCodeVersion { kernel: String, version: u32 },
    #[error("kernel '{kernel}' is for wavefronts other than 64 work-items wide, which gfx803 does not have")]
    Wave32 { kernel: String },
    #[error("kernel '{kernel}': a kernarg segment of {size} bytes is not possible (at most 64 KiB)")]
    KernargSize { kernel: String, size: u64 },
    #[error(
        "kernel '{kernel}': its descriptor reserves {count} user SGPRs but its requests take {needed} \
         (at most 16); the descriptor is damaged"
    )]
    UserSgprs { kernel: String, count: u32, needed: u32 },
    #[error("kernel '{kernel}': its descriptor requests a fourth work-item id; there are three")]
    WorkItemIds { kernel: String },
    #[error("kernel '{kernel}': its first instruction would lie at {entry:#x}, outside the code of the object")]
    EntryOutside { kernel: String, entry: u64 },
    #[error("the metadata of the code object can't be read: {detail}")]
    Metadata { detail: String },
    #[error("kernel '{kernel}', argument {index}: {detail}")]
    Argument { kernel: String, index: usize, detail: String },
    #[error("symbol '{symbol}' is used but not defined in the code object; link the code that defines it")]
    Undefined { symbol: String },
    #[error("relocation type {kind} at {place:#x} {detail}")]
    Relocation { kind: u32, place: u64, detail: String },
    #[error("the code object needs {size} bytes of memory; at most {limit} are allowed")]
    TooLarge { size: u64, limit: u64 },
    #[error("the code object must be loaded at a multiple of {align:#x}, not at {base:#x}")]
    Unaligned { base: u64, align: u64 },
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none at all".into(),
        names => names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", "),
    }
}

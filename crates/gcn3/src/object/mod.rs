//! Code objects: gfx803 kernels in the file format of compilers.
//!
//! A code object is an ELF file with machine code, a descriptor of each kernel (the registers it needs and those that
//! the hardware fills in), metadata (its arguments) and variables. Versions 2 to 6 are read into one form, [`Kernel`].
//! Objects for other GPUs or systems are rejected by name. [`CodeObject::load`] returns the bytes to write to memory.
//!
//! The loader never panics, whatever the file contains; it is fuzzed.

mod bundle;
mod descriptor;
mod elf;
mod error;
mod image;
mod implicit;
mod kernel;
mod metadata;
mod msgpack;
mod target;
mod value;
mod yaml;

pub use descriptor::{Descriptor, FloatMode, MAX_USER_SGPRS, Setup};
pub use error::ObjectError;
pub use image::{Image, ImageSegment};
pub use implicit::ImplicitLayout;
pub use kernel::{AddressSpace, Argument, ArgumentKind, Hidden, Kernel, Version};

use descriptor::{DESCRIPTOR_BYTES, KERNEL_CODE_BYTES};
use elf::{Elf, Symbol};
use implicit::Evidence;
use mem::VirtAddr;
use metadata::{KernelMetadata, MAX_KERNARG, Metadata};

/// `STT_AMDGPU_HSA_KERNEL`, the type of kernel symbols in version 2.
const STT_AMDGPU_HSA_KERNEL: u8 = 10;
/// `STT_FUNC`.
const STT_FUNC: u8 = 2;
/// `STT_OBJECT`.
const STT_OBJECT: u8 = 1;
/// `NT_AMD_HSA_CODE_OBJECT_VERSION`, owner `AMD`.
const NOTE_CODE_OBJECT_VERSION: u32 = 1;
/// `NT_AMD_HSA_ISA_VERSION`, owner `AMD`.
const NOTE_ISA_VERSION: u32 = 3;

/// A code object for gfx803.
#[derive(Clone, Debug)]
pub struct CodeObject {
    elf: Elf,
    kernels: Vec<Kernel>,
    printf: Vec<String>,
}

/// A global or constant variable of a code object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// Relative to the base of the loaded object.
    pub address: VirtAddr,
    pub size: u64,
}

/// A function that kernels may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Relative to the base of the loaded object.
    pub address: VirtAddr,
    pub size: u64,
}

impl CodeObject {
    /// Reads a file: a code object, or a bundle that contains one for gfx803.
    pub fn parse(file: &[u8]) -> Result<CodeObject, ObjectError> {
        let elf = Elf::parse(bundle::unbundle(file)?)?;
        check_notes(&elf)?;
        // Descriptors of a linked object are complete; those of a relocatable one are completed by relocations.
        let resolved = if elf.relocatable { Some(image::load(&elf, VirtAddr(0))?) } else { None };
        let bytes_at = |address: u64, size: usize| match &resolved {
            Some(image) => image.bytes(VirtAddr(address), size),
            None => elf.bytes_at(address, size),
        };
        let metadata = Metadata::from_notes(elf.version, &elf.notes)?;
        if let Some(target) = metadata.target.as_ref().filter(|target| !names_gfx803(target)) {
            return Err(ObjectError::Target { found: target.clone() });
        }
        let mut kernels = Vec::new();
        for symbol in kernel_symbols(&elf, &metadata) {
            let name = symbol.name.strip_suffix(".kd").unwrap_or(&symbol.name);
            let described = metadata.kernels.iter().find(|kernel| {
                kernel.symbol == symbol.name || kernel.name == name || kernel.symbol.strip_suffix("@kd") == Some(name)
            });
            let name = described.map_or(name, |metadata| &metadata.name);
            let size = if elf.version == Version::V2 { KERNEL_CODE_BYTES } else { DESCRIPTOR_BYTES };
            let descriptor = bytes_at(symbol.address, size)
                .ok_or_else(|| ObjectError::DescriptorCut { kernel: name.to_string() })?;
            kernels.push(read_kernel(&elf, symbol, name, descriptor, described)?);
        }
        kernels.sort_by_key(|kernel| kernel.descriptor.entry);
        find_implicit_layouts(&elf, &mut kernels);
        Ok(CodeObject { elf, kernels, printf: metadata.printf })
    }

    pub fn version(&self) -> Version {
        self.elf.version
    }

    /// All kernels, in the order of their code.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel with this name.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, ObjectError> {
        self.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| ObjectError::NoSuchKernel {
            name: name.into(),
            known: self.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
        })
    }

    /// Formats of the `printf` calls in the kernels: `id:number of arguments:their sizes:format`.
    pub fn printf_formats(&self) -> &[String] {
        &self.printf
    }

    /// The functions that are not kernels, in the order of their code.
    pub fn functions(&self) -> Vec<Function> {
        let is_kernel = |address: u64| {
            let mut kernels = self.kernels.iter().map(|kernel| &kernel.descriptor);
            kernels.any(|descriptor| descriptor.entry.0 == address || descriptor.address.0 == address)
        };
        let functions = self.elf.symbols.iter().filter(|symbol| symbol.kind == STT_FUNC && !is_kernel(symbol.address));
        let mut functions: Vec<Function> = functions
            .map(|symbol| Function { name: symbol.name.clone(), address: VirtAddr(symbol.address), size: symbol.size })
            .collect();
        functions.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
        functions
    }

    /// The named variables, in the order of the symbol table.
    pub fn variables(&self) -> Vec<Variable> {
        let variables = self.elf.symbols.iter().filter(|symbol| symbol.kind == STT_OBJECT && !is_descriptor(symbol));
        variables
            .map(|symbol| Variable { name: symbol.name.clone(), address: VirtAddr(symbol.address), size: symbol.size })
            .collect()
    }
}

fn names_gfx803(target: &str) -> bool {
    // Features such as `:xnack-` may follow.
    target.split(':').next().is_some_and(|target| target.ends_with("gfx803"))
}

/// Checks the version and the processor in the notes of version 2.
fn check_notes(elf: &Elf) -> Result<(), ObjectError> {
    for note in elf.notes.iter().filter(|note| note.owner == "AMD") {
        let words: Vec<u32> =
            note.content.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
        match (note.kind, words.as_slice()) {
            (NOTE_CODE_OBJECT_VERSION, [major, minor, ..]) if *major != 2 => {
                return Err(ObjectError::Version { found: format!("{major}.{minor}") });
            }
            // The sizes of two names, major, minor, stepping, then the names.
            (NOTE_ISA_VERSION, [_, 8, 0, 3, ..]) => {}
            (NOTE_ISA_VERSION, [_, major, minor, stepping, ..]) => {
                return Err(ObjectError::Target { found: format!("gfx{major}{minor}{stepping:x}") });
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_descriptor(symbol: &Symbol) -> bool {
    symbol.name.ends_with(".kd") && symbol.size == DESCRIPTOR_BYTES as u64
}

/// The symbols of kernels: those of descriptors, or in version 2 those of the code.
fn kernel_symbols<'a>(elf: &'a Elf, metadata: &Metadata) -> Vec<&'a Symbol> {
    let named = |symbol: &Symbol| metadata.kernels.iter().any(|kernel| kernel.name == symbol.name);
    let is_kernel = |symbol: &&Symbol| match (elf.version, symbol.kind) {
        (Version::V2, STT_AMDGPU_HSA_KERNEL) => true,
        (Version::V2, STT_FUNC) => named(symbol) || !symbol.local && starts_with_kernel_code(elf, symbol),
        (Version::V2, _) => false,
        _ => is_descriptor(symbol),
    };
    elf.symbols.iter().filter(is_kernel).collect()
}

/// Whether a symbol points to an `amd_kernel_code_t` for gfx803.
fn starts_with_kernel_code(elf: &Elf, symbol: &Symbol) -> bool {
    const BEGIN: [u8; 4] = 1u32.to_le_bytes();
    let kind_and_version = [1, 0, 8, 0, 0, 0, 3, 0];
    elf.bytes_at(symbol.address, KERNEL_CODE_BYTES)
        .is_some_and(|bytes| bytes.starts_with(&BEGIN) && bytes[8..16] == kind_and_version)
}

fn read_kernel(
    elf: &Elf,
    symbol: &Symbol,
    name: &str,
    bytes: &[u8],
    metadata: Option<&KernelMetadata>,
) -> Result<Kernel, ObjectError> {
    let descriptor = if elf.version == Version::V2 {
        Descriptor::from_kernel_code(bytes, symbol.address, name)?
    } else {
        Descriptor::from_descriptor(bytes, symbol.address, name)?
    };
    let entry = descriptor.entry.0;
    if !elf.is_code(entry) || !entry.is_multiple_of(4) {
        return Err(ObjectError::EntryOutside { kernel: name.into(), entry });
    }
    let described = metadata.is_some();
    let code = elf.symbols.iter().find(|symbol| symbol.address == entry && symbol.kind == STT_FUNC);
    let code_size = match elf.version {
        Version::V2 => symbol.size.saturating_sub(entry.saturating_sub(symbol.address)),
        _ => code.map_or(0, |code| code.size),
    };
    let metadata = metadata.cloned().unwrap_or_default();
    let last_argument = metadata.arguments.iter().map(|argument| argument.offset + argument.size).max().unwrap_or(0);
    let kernarg_size = metadata.kernarg_size.unwrap_or(0).max(descriptor.kernarg_size).max(last_argument);
    if kernarg_size > MAX_KERNARG {
        return Err(ObjectError::KernargSize { kernel: name.into(), size: kernarg_size.into() });
    }
    Ok(Kernel {
        name: name.into(),
        version: elf.version,
        described,
        implicit: ImplicitLayout::Hsa,
        arguments: metadata.arguments,
        kernarg_size,
        kernarg_align: metadata.kernarg_align.filter(|align| align.is_power_of_two()).unwrap_or(16).clamp(16, 4096),
        lds_size: descriptor.lds_size.max(metadata.lds_size.unwrap_or(0)),
        private_size: descriptor.private_size.max(metadata.private_size.unwrap_or(0)),
        dynamic_stack: descriptor.dynamic_stack || metadata.dynamic_stack,
        sgprs: descriptor.sgprs,
        vgprs: descriptor.vgprs,
        required_group: metadata.required_group,
        max_group: metadata.max_group,
        uniform_groups: metadata.uniform_groups,
        language: metadata.language,
        code_size,
        descriptor,
    })
}

/// Determines the layout of the kernels' implicit arguments from their code.
fn find_implicit_layouts(elf: &Elf, kernels: &mut [Kernel]) {
    let evidence: Vec<Option<Evidence>> = kernels
        .iter()
        .map(|kernel| {
            let size = usize::try_from(kernel.code_size).ok()?;
            let code = elf.bytes_at(kernel.descriptor.entry.0, size).filter(|_| kernel.described)?;
            Some(Evidence::of(kernel.version, kernel.descriptor.setup, &kernel.arguments, code))
        })
        .collect();
    let mesa = evidence.iter().flatten().any(Evidence::shows_mesa);
    for (kernel, evidence) in kernels.iter_mut().zip(evidence) {
        kernel.implicit = evidence.map_or(ImplicitLayout::Hsa, |evidence| evidence.layout(mesa));
    }
}

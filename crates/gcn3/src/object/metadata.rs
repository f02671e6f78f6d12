//! The compiler's metadata about each kernel, with the keys of version 2 (`KernargSegmentSize`) or of later versions
//! (`.kernarg_segment_size`).

use super::{
    ObjectError,
    elf::Note,
    kernel::{AddressSpace, Argument, ArgumentKind, Hidden, Version},
    msgpack,
    value::Value,
    yaml,
};

/// `NT_AMDGPU_METADATA`, owner `AMDGPU`: MessagePack.
const NOTE_MSGPACK: u32 = 32;
/// `NT_AMD_HSA_METADATA`, owner `AMD`: YAML.
const NOTE_YAML: u32 = 10;
/// The maximum size of a kernarg segment.
pub const MAX_KERNARG: u32 = 64 << 10;

/// The metadata of a code object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The target triple (version 4 and later): `amdgcn-amd-amdhsa--gfx803`.
    pub target: Option<String>,
    /// Formats of `printf` calls: `id:number of arguments:their sizes:format`.
    pub printf: Vec<String>,
    pub kernels: Vec<KernelMetadata>,
}

/// The metadata of one kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelMetadata {
    pub name: String,
    /// The symbol of the descriptor: `name.kd`, or `name@kd` in version 2.
    pub symbol: String,
    pub arguments: Vec<Argument>,
    pub kernarg_size: Option<u32>,
    pub kernarg_align: Option<u32>,
    pub lds_size: Option<u32>,
    pub private_size: Option<u32>,
    pub dynamic_stack: bool,
    pub required_group: Option<[u32; 3]>,
    pub max_group: Option<u32>,
    /// Whether the compiler assumed that all work-groups have the same size.
    pub uniform_groups: bool,
    pub language: Option<String>,
}

impl Metadata {
    /// Finds and reads the metadata among the notes; empty if there is none.
    pub fn from_notes(version: Version, notes: &[Note]) -> Result<Metadata, ObjectError> {
        let (owner, kind) = if version == Version::V2 { ("AMD", NOTE_YAML) } else { ("AMDGPU", NOTE_MSGPACK) };
        let Some(note) = notes.iter().find(|note| note.owner == owner && note.kind == kind) else {
            return Ok(Metadata::default());
        };
        let value = if version == Version::V2 {
            yaml::read(&String::from_utf8_lossy(&note.content))
        } else {
            msgpack::read(&note.content)
        };
        let value = value.map_err(|detail| ObjectError::Metadata { detail })?;
        let words = if version == Version::V2 { &V2 } else { &V3 };
        let texts = |value: Option<&Value>| {
            let texts = value.and_then(Value::list).unwrap_or_default();
            texts.iter().filter_map(|text| text.text().map(str::to_string)).collect()
        };
        let kernels = value.get(words.kernels).and_then(Value::list).unwrap_or_default();
        Ok(Metadata {
            target: value.get("amdhsa.target").and_then(Value::text).map(str::to_string),
            printf: texts(value.get(words.printf)),
            kernels: kernels.iter().map(|kernel| words.kernel(kernel)).collect::<Result<_, _>>()?,
        })
    }
}

/// The keys of one version.
struct Words {
    kernels: &'static str,
    printf: &'static str,
    name: &'static str,
    symbol: &'static str,
    language: &'static str,
    arguments: &'static str,
    /// The maps inside a kernel that hold its code properties and its attributes; empty if they are in the kernel
    /// itself.
    properties: &'static str,
    attributes: &'static str,
    kernarg_size: &'static str,
    kernarg_align: &'static str,
    lds_size: &'static str,
    private_size: &'static str,
    dynamic_stack: &'static str,
    max_group: &'static str,
    required_group: &'static str,
    size: &'static str,
    align: &'static str,
    offset: &'static str,
    kind: &'static str,
    type_name: &'static str,
    address_space: &'static str,
    pointee_align: &'static str,
    is_const: &'static str,
    is_restrict: &'static str,
    is_volatile: &'static str,
    access: &'static str,
}

const V2: Words = Words {
    kernels: "Kernels",
    printf: "Printf",
    name: "Name",
    symbol: "SymbolName",
    language: "Language",
    arguments: "Args",
    properties: "CodeProps",
    attributes: "Attrs",
    kernarg_size: "KernargSegmentSize",
    kernarg_align: "KernargSegmentAlign",
    lds_size: "GroupSegmentFixedSize",
    private_size: "PrivateSegmentFixedSize",
    dynamic_stack: "IsDynamicCallStack",
    max_group: "MaxFlatWorkGroupSize",
    required_group: "ReqdWorkGroupSize",
    size: "Size",
    align: "Align",
    offset: "Offset",
    kind: "ValueKind",
    type_name: "TypeName",
    address_space: "AddrSpaceQual",
    pointee_align: "PointeeAlign",
    is_const: "IsConst",
    is_restrict: "IsRestrict",
    is_volatile: "IsVolatile",
    access: "AccQual",
};

const V3: Words = Words {
    kernels: "amdhsa.kernels",
    printf: "amdhsa.printf",
    name: ".name",
    symbol: ".symbol",
    language: ".language",
    arguments: ".args",
    properties: "",
    attributes: "",
    kernarg_size: ".kernarg_segment_size",
    kernarg_align: ".kernarg_segment_align",
    lds_size: ".group_segment_fixed_size",
    private_size: ".private_segment_fixed_size",
    dynamic_stack: ".uses_dynamic_stack",
    max_group: ".max_flat_workgroup_size",
    required_group: ".reqd_workgroup_size",
    size: ".size",
    align: ".align",
    offset: ".offset",
    kind: ".value_kind",
    type_name: ".type_name",
    address_space: ".address_space",
    pointee_align: ".pointee_align",
    is_const: ".is_const",
    is_restrict: ".is_restrict",
    is_volatile: ".is_volatile",
    access: ".access",
};

impl Words {
    fn kernel(&self, kernel: &Value) -> Result<KernelMetadata, ObjectError> {
        let part = |name: &str| if name.is_empty() { Some(kernel) } else { kernel.get(name) };
        let property = |name: &str| part(self.properties).and_then(|part| part.get(name));
        let number = |name: &str| property(name).and_then(Value::number);
        let text = |name: &str| kernel.get(name).and_then(Value::text).map(str::to_string);
        let name = text(self.name).ok_or_else(|| ObjectError::Metadata { detail: "a kernel has no name".into() })?;
        let required = part(self.attributes).and_then(|part| part.get(self.required_group)).and_then(Value::list);
        let required_group = match required {
            Some([x, y, z]) => x.number().zip(y.number()).zip(z.number()).map(|((x, y), z)| [x, y, z]),
            _ => None,
        };
        Ok(KernelMetadata {
            symbol: text(self.symbol).unwrap_or_else(|| format!("{name}.kd")),
            arguments: self.arguments(&name, kernel.get(self.arguments).and_then(Value::list).unwrap_or_default())?,
            kernarg_size: number(self.kernarg_size),
            kernarg_align: number(self.kernarg_align),
            lds_size: number(self.lds_size),
            private_size: number(self.private_size),
            dynamic_stack: property(self.dynamic_stack).is_some_and(Value::flag),
            required_group,
            max_group: number(self.max_group),
            uniform_groups: kernel.get(".uniform_work_group_size").is_some_and(Value::flag),
            language: text(self.language),
            name,
        })
    }

    /// Reads the arguments. Version 2 has no offsets: each argument follows the previous one, aligned.
    fn arguments(&self, kernel: &str, values: &[Value]) -> Result<Vec<Argument>, ObjectError> {
        let mut arguments = Vec::with_capacity(values.len());
        let mut end = 0u32;
        for (index, value) in values.iter().enumerate() {
            let wrong = |detail: String| ObjectError::Argument { kernel: kernel.into(), index, detail };
            let number = |name: &str| value.get(name).and_then(Value::number);
            let size = number(self.size).ok_or_else(|| wrong("its size is missing in the metadata".into()))?;
            let align = number(self.align).filter(|align| align.is_power_of_two()).unwrap_or(1).min(4096);
            let next = end.checked_next_multiple_of(align).unwrap_or(u32::MAX);
            let offset = number(self.offset).unwrap_or(next);
            end = offset
                .checked_add(size)
                .filter(|end| *end <= MAX_KERNARG)
                .ok_or_else(|| wrong(format!("{size} bytes at {offset} lie outside any kernarg segment (64 KiB)")))?;
            let kind_name = value.get(self.kind).and_then(Value::text).unwrap_or_default();
            let kind =
                kind(kind_name).ok_or_else(|| wrong(format!("kind '{kind_name}' in the metadata is not known")))?;
            let text = |name: &str| value.get(name).and_then(Value::text).map(str::to_string);
            arguments.push(Argument {
                name: text(self.name),
                type_name: text(self.type_name),
                kind,
                offset,
                size,
                address_space: value.get(self.address_space).and_then(Value::text).and_then(address_space),
                pointee_align: number(self.pointee_align).filter(|align| align.is_power_of_two() && *align <= 1 << 16),
                is_const: value.get(self.is_const).is_some_and(Value::flag),
                is_restrict: value.get(self.is_restrict).is_some_and(Value::flag),
                is_volatile: value.get(self.is_volatile).is_some_and(Value::flag),
                access: text(self.access),
            });
        }
        Ok(arguments)
    }
}

fn kind(name: &str) -> Option<ArgumentKind> {
    Some(match name {
        "ByValue" | "by_value" => ArgumentKind::Value,
        "GlobalBuffer" | "global_buffer" => ArgumentKind::Buffer,
        "DynamicSharedPointer" | "dynamic_shared_pointer" => ArgumentKind::DynamicLds,
        "Sampler" | "sampler" => ArgumentKind::Sampler,
        "Image" | "image" => ArgumentKind::Image,
        "Pipe" | "pipe" => ArgumentKind::Pipe,
        "Queue" | "queue" => ArgumentKind::Queue,
        hidden => ArgumentKind::Hidden(Hidden::by_name(hidden)?),
    })
}

fn address_space(name: &str) -> Option<AddressSpace> {
    Some(match name {
        "Private" | "private" => AddressSpace::Private,
        "Global" | "global" => AddressSpace::Global,
        "Constant" | "constant" => AddressSpace::Constant,
        "Local" | "local" => AddressSpace::Local,
        "Generic" | "generic" => AddressSpace::Generic,
        "Region" | "region" => AddressSpace::Region,
        _ => return None,
    })
}

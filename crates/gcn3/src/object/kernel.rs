//! A kernel, independent of the version of its code object.

use super::{ImplicitLayout, descriptor::Descriptor};
use std::fmt;

/// The versions of AMD's HSA code objects. They differ in where a kernel's set-up is stored (version 2 before the code,
/// later ones in a separate descriptor), in the format of the metadata, and in the hidden arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V2,
    V3,
    V4,
    V5,
    /// Like version 5, with support for generic targets.
    V6,
}

impl Version {
    /// The version number.
    pub fn number(self) -> u32 {
        match self {
            Version::V2 => 2,
            Version::V3 => 3,
            Version::V4 => 4,
            Version::V5 => 5,
            Version::V6 => 6,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.number())
    }
}

/// One kernel of a code object.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub name: String,
    pub version: Version,
    pub descriptor: Descriptor,
    /// Whether the object describes the arguments. If not, `arguments` is empty, the caller must know the layout of the
    /// kernarg segment, and nothing can be checked.
    pub described: bool,
    /// All arguments in order of their offsets: explicit ones, then hidden ones.
    pub arguments: Vec<Argument>,
    /// The layout that the code expects after the explicit arguments.
    pub implicit: ImplicitLayout,
    /// The size of the kernarg segment in bytes, including hidden arguments.
    pub kernarg_size: u32,
    /// Alignment of the kernarg segment, a power of two, at least 16.
    pub kernarg_align: u32,
    /// Bytes of LDS that the code itself needs, without arguments of kind [`ArgumentKind::DynamicLds`].
    pub lds_size: u32,
    /// Bytes of scratch of one work-item.
    pub private_size: u32,
    /// Whether the compiler could not bound the stack (recursion, indirect calls), so that `private_size` is a lower
    /// bound.
    pub dynamic_stack: bool,
    /// Scalar registers, rounded up to the hardware's allocation unit.
    pub sgprs: u16,
    /// Vector registers, rounded up to the hardware's allocation unit.
    pub vgprs: u16,
    /// The work-group size the source requires (`reqd_work_group_size`).
    pub required_group: Option<[u32; 3]>,
    /// The largest work-group the code was compiled for.
    pub max_group: Option<u32>,
    /// Whether the compiler assumed that all work-groups have the same size.
    pub uniform_groups: bool,
    /// The source language, as the compiler wrote it: `OpenCL C`.
    pub language: Option<String>,
    /// Bytes of code, if the symbol table gives them.
    pub code_size: u64,
}

impl Kernel {
    /// The explicit arguments, which a caller passes.
    pub fn explicit_arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| !argument.kind.is_hidden())
    }

    /// The hidden arguments, which the runtime fills in.
    pub fn hidden_arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.kind.is_hidden())
    }
}

/// One argument in the kernarg segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The name in the source, if the compiler kept it (`-cl-kernel-arg-info`).
    pub name: Option<String>,
    /// The type in the source: `float*`, `int`.
    pub type_name: Option<String>,
    pub kind: ArgumentKind,
    /// The offset in the kernarg segment.
    pub offset: u32,
    /// The size in the kernarg segment in bytes.
    pub size: u32,
    pub address_space: Option<AddressSpace>,
    /// The alignment of the target of a dynamic LDS pointer.
    pub pointee_align: Option<u32>,
    /// Whether the target of the pointer is declared `const`.
    pub is_const: bool,
    pub is_restrict: bool,
    pub is_volatile: bool,
    /// How an image is accessed: `read_only`, `write_only`, `read_write`.
    pub access: Option<String>,
}

/// Address spaces of pointers, as OpenCL names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressSpace {
    Private,
    Global,
    Constant,
    Local,
    Generic,
    Region,
}

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A value passed directly.
    Value,
    /// An address in global or constant memory.
    Buffer,
    /// An address in LDS, allocated at launch.
    DynamicLds,
    Sampler,
    Image,
    Pipe,
    /// A device-side queue.
    Queue,
    Hidden(Hidden),
}

impl ArgumentKind {
    /// Whether the runtime fills in the argument, not the caller.
    pub fn is_hidden(self) -> bool {
        matches!(self, ArgumentKind::Hidden(_))
    }
}

impl fmt::Display for ArgumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArgumentKind::Value => "value",
            ArgumentKind::Buffer => "buffer",
            ArgumentKind::DynamicLds => "local memory",
            ArgumentKind::Sampler => "sampler",
            ArgumentKind::Image => "image",
            ArgumentKind::Pipe => "pipe",
            ArgumentKind::Queue => "queue",
            ArgumentKind::Hidden(hidden) => return write!(f, "hidden {hidden}"),
        })
    }
}

macro_rules! hidden {
    ($($(#[$doc:meta])* $name:ident = $v2:literal $v3:literal;)*) => {
        /// An argument that the runtime adds after the explicit ones.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Hidden { $($(#[$doc])* $name,)* }

        impl Hidden {
            /// Looks up the name in the metadata, of version 2 (`HiddenNone`) or later (`hidden_none`).
            pub fn by_name(name: &str) -> Option<Hidden> {
                match name { $($v2 | $v3 => Some(Hidden::$name),)* _ => None }
            }
        }

        impl fmt::Display for Hidden {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let name = match self { $(Hidden::$name => $v3,)* };
                f.write_str(&name["hidden_".len()..].replace('_', " "))
            }
        }
    };
}

hidden! {
    /// Padding in place of an unused hidden argument.
    None = "HiddenNone" "hidden_none";
    GlobalOffsetX = "HiddenGlobalOffsetX" "hidden_global_offset_x";
    GlobalOffsetY = "HiddenGlobalOffsetY" "hidden_global_offset_y";
    GlobalOffsetZ = "HiddenGlobalOffsetZ" "hidden_global_offset_z";
    PrintfBuffer = "HiddenPrintfBuffer" "hidden_printf_buffer";
    HostcallBuffer = "HiddenHostcallBuffer" "hidden_hostcall_buffer";
    DefaultQueue = "HiddenDefaultQueue" "hidden_default_queue";
    CompletionAction = "HiddenCompletionAction" "hidden_completion_action";
    MultigridSync = "HiddenMultiGridSyncArg" "hidden_multigrid_sync_arg";
    BlockCountX = "HiddenBlockCountX" "hidden_block_count_x";
    BlockCountY = "HiddenBlockCountY" "hidden_block_count_y";
    BlockCountZ = "HiddenBlockCountZ" "hidden_block_count_z";
    GroupSizeX = "HiddenGroupSizeX" "hidden_group_size_x";
    GroupSizeY = "HiddenGroupSizeY" "hidden_group_size_y";
    GroupSizeZ = "HiddenGroupSizeZ" "hidden_group_size_z";
    RemainderX = "HiddenRemainderX" "hidden_remainder_x";
    RemainderY = "HiddenRemainderY" "hidden_remainder_y";
    RemainderZ = "HiddenRemainderZ" "hidden_remainder_z";
    GridDims = "HiddenGridDims" "hidden_grid_dims";
    HeapV1 = "HiddenHeapV1" "hidden_heap_v1";
    DynamicLdsSize = "HiddenDynamicLdsSize" "hidden_dynamic_lds_size";
    PrivateBase = "HiddenPrivateBase" "hidden_private_base";
    SharedBase = "HiddenSharedBase" "hidden_shared_base";
    QueuePtr = "HiddenQueuePtr" "hidden_queue_ptr";
    ToolCorrelationId = "HiddenToolCorrelationId" "hidden_tool_correlation_id";
}

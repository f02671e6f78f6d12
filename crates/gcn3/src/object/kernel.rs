//! A kernel as the rest of cohesim sees it, whatever code object version it came from.

use super::{ImplicitLayout, descriptor::Descriptor};
use std::fmt;

/// The versions of AMD's HSA code objects. They differ in where a kernel's set-up is written (version 2 before the
/// code, later ones in a separate descriptor), in how the metadata is spelt, and in the hidden arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V2,
    V3,
    V4,
    V5,
    /// As version 5, for processors that a generic target also covers.
    V6,
}

impl Version {
    /// The number people call it by.
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
    /// Whether the object described the arguments. Without a description (`arguments` is empty then) the caller must
    /// know the layout of the kernarg segment, and nothing can be checked.
    pub described: bool,
    /// All arguments in the order of their offsets: those of the source, then the hidden ones.
    pub arguments: Vec<Argument>,
    /// How the code expects what lies behind the arguments of the source.
    pub implicit: ImplicitLayout,
    /// Bytes of the kernarg segment, hidden arguments included.
    pub kernarg_size: u32,
    /// Alignment of the kernarg segment, a power of two, at least 16.
    pub kernarg_align: u32,
    /// Bytes of LDS that the code itself asks for; arguments of kind [`ArgumentKind::DynamicLds`] come on top.
    pub lds_size: u32,
    /// Bytes of scratch of one work-item.
    pub private_size: u32,
    /// The compiler could not bound the stack (recursion, calls through pointers), so `private_size` is a lower bound.
    pub dynamic_stack: bool,
    /// Scalar registers, rounded up to what the hardware allocates.
    pub sgprs: u16,
    /// Vector registers, rounded up to what the hardware allocates.
    pub vgprs: u16,
    /// The work-group size the source requires (`reqd_work_group_size`).
    pub required_group: Option<[u32; 3]>,
    /// The largest work-group the code was compiled for.
    pub max_group: Option<u32>,
    /// The compiler relied on every work-group having the same size.
    pub uniform_groups: bool,
    /// The source language, as the compiler wrote it: `OpenCL C`.
    pub language: Option<String>,
    /// Bytes of code, where the symbol table says so.
    pub code_size: u64,
}

impl Kernel {
    /// The arguments that a caller passes: those of the source.
    pub fn explicit_arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| !argument.kind.is_hidden())
    }

    /// The arguments the runtime fills in.
    pub fn hidden_arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.kind.is_hidden())
    }
}

/// One argument in the kernarg segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The name in the source, where the compiler kept it (`-cl-kernel-arg-info`).
    pub name: Option<String>,
    /// The type in the source: `float*`, `int`.
    pub type_name: Option<String>,
    pub kind: ArgumentKind,
    /// Where it lies in the kernarg segment.
    pub offset: u32,
    /// Bytes it takes there.
    pub size: u32,
    pub address_space: Option<AddressSpace>,
    /// Alignment of what a dynamic LDS pointer points at.
    pub pointee_align: Option<u32>,
    /// `const` was written before what the pointer points at.
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

/// What an argument is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// The bytes themselves.
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
    /// Whether the runtime, not the caller, fills the argument in.
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
        /// What the runtime adds behind the arguments of the source.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Hidden { $($(#[$doc])* $name,)* }

        impl Hidden {
            /// By the name in the metadata, of version 2 (`HiddenNone`) or later (`hidden_none`).
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
    /// Padding where an unused hidden argument would be.
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

//! The kernarg segment: the explicit arguments from the caller, then the hidden ones.

use super::{Dispatch, DispatchError, MAX_LDS, Places};
use crate::object::{Argument, ArgumentKind, Hidden, ImplicitLayout, Kernel, Version};
use mem::VirtAddr;

/// The alignment of local memory whose element type is not known: that of the largest OpenCL vector in use.
const LOCAL_ALIGN: u32 = 16;

/// A value for an explicit argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentValue {
    /// The bytes of a number, vector or structure.
    Bytes(Vec<u8>),
    /// The address of a buffer, or of the descriptor of an image or sampler.
    Pointer(VirtAddr),
    /// The number of bytes of local memory for each work-group.
    Local(u32),
}

impl ArgumentValue {
    fn kind_name(&self) -> &'static str {
        match self {
            ArgumentValue::Bytes(_) => "value",
            ArgumentValue::Pointer(_) => "buffer",
            ArgumentValue::Local(_) => "size of local memory",
        }
    }
}

impl Dispatch {
    /// Packs the explicit arguments, and checks each against the metadata. Local memory is allocated after the kernel's
    /// own, in the order of the arguments.
    pub fn set_arguments(&mut self, values: &[ArgumentValue]) -> Result<(), DispatchError> {
        let expected: Vec<Argument> = self.kernel.explicit_arguments().cloned().collect();
        if expected.len() != values.len() {
            return Err(DispatchError::ArgumentCount {
                kernel: self.kernel.name.clone(),
                expected: expected.len(),
                given: values.len(),
                signature: signature(&self.kernel),
            });
        }
        self.lds_size = self.kernel.lds_size;
        self.explicit.fill(0);
        for (index, (argument, value)) in expected.iter().zip(values).enumerate() {
            self.set_argument(index, argument, value)?;
        }
        Ok(())
    }

    fn set_argument(&mut self, index: usize, argument: &Argument, value: &ArgumentValue) -> Result<(), DispatchError> {
        let (kernel, name) = (self.kernel.name.clone(), describe(argument));
        let bytes = match (argument.kind, value) {
            (ArgumentKind::Value, ArgumentValue::Bytes(bytes)) => bytes.clone(),
            (ArgumentKind::Buffer, ArgumentValue::Pointer(address)) => address.0.to_le_bytes().to_vec(),
            (ArgumentKind::Image | ArgumentKind::Sampler, ArgumentValue::Pointer(address)) => {
                address.0.to_le_bytes().to_vec()
            }
            (ArgumentKind::DynamicLds, ArgumentValue::Local(size)) => {
                let align = argument.pointee_align.unwrap_or(LOCAL_ALIGN);
                let offset = self.allocate_lds(*size, align)?;
                let mut bytes = offset.to_le_bytes().to_vec();
                bytes.resize(argument.size.max(4) as usize, 0);
                bytes
            }
            (ArgumentKind::Pipe | ArgumentKind::Queue, _) => {
                return Err(DispatchError::ArgumentUnsupported { kernel, index, argument: name, kind: argument.kind });
            }
            (expected, value) => {
                let given = value.kind_name();
                return Err(DispatchError::ArgumentKind { kernel, index, argument: name, expected, given });
            }
        };
        if bytes.len() != argument.size as usize {
            let (expected, given) = (argument.size, bytes.len());
            return Err(DispatchError::ArgumentSize { kernel, index, argument: name, expected, given });
        }
        let start = argument.offset as usize;
        self.explicit[start..start + bytes.len()].copy_from_slice(&bytes);
        Ok(())
    }

    /// Sets the kernarg segment directly, for kernels whose arguments the object does not describe. The bytes may be
    /// fewer than the segment's (zeros follow), or more if the object gives no size.
    pub fn set_raw_arguments(&mut self, bytes: &[u8]) -> Result<(), DispatchError> {
        let expected = self.kernel.kernarg_size;
        if bytes.len() > expected as usize && expected != 0 {
            let kernel = self.kernel.name.clone();
            return Err(DispatchError::KernargSize { kernel, expected, given: bytes.len() });
        }
        self.explicit.clear();
        self.explicit.extend_from_slice(bytes);
        self.explicit.resize(bytes.len().max(expected as usize), 0);
        self.kernel.kernarg_size = self.explicit.len() as u32;
        Ok(())
    }

    /// Allocates local memory after what is in use; returns its offset.
    pub fn allocate_lds(&mut self, size: u32, align: u32) -> Result<u32, DispatchError> {
        let start = u64::from(self.lds_size).next_multiple_of(u64::from(align.max(1)));
        let end = start + u64::from(size);
        if end > u64::from(MAX_LDS) {
            return Err(DispatchError::LdsFull { kernel: self.kernel.name.clone(), size: end });
        }
        self.lds_size = end as u32;
        Ok(start as u32)
    }

    /// The bytes of the kernarg segment, including hidden arguments.
    pub fn kernarg(&self, places: &Places) -> Vec<u8> {
        let mut segment = self.explicit.clone();
        for argument in self.kernel.hidden_arguments() {
            let ArgumentKind::Hidden(hidden) = argument.kind else { continue };
            let value = self.hidden(hidden, places).to_le_bytes();
            let start = argument.offset as usize;
            let size = (argument.size as usize).min(value.len());
            segment[start..start + size].copy_from_slice(&value[..size]);
        }
        if let Some(start) = self.printf_slot().filter(|_| self.printf_buffer.0 != 0) {
            segment[start..start + 8].copy_from_slice(&self.printf_buffer.0.to_le_bytes());
        }
        let (start, words) = match self.kernel.implicit {
            ImplicitLayout::Hsa => return segment,
            ImplicitLayout::Mesa { offset } => {
                let [x, y, z] = self.offset.map(|offset| offset as u32);
                (offset, [u32::from(self.dims), x, y, z].map(u32::to_le_bytes).concat())
            }
            ImplicitLayout::Unlisted { offset } => (offset, self.offset.map(u64::to_le_bytes).concat()),
        };
        segment[start as usize..start as usize + words.len()].copy_from_slice(&words);
        segment
    }

    /// The location of the `printf` buffer's address, even if the compiler did not list that argument.
    fn printf_slot(&self) -> Option<usize> {
        let first = self.kernel.hidden_arguments().next()?.offset as usize;
        let start = first + if self.kernel.version >= Version::V5 { 72 } else { 24 };
        (start + 8 <= self.explicit.len()).then_some(start)
    }

    fn hidden(&self, hidden: Hidden, places: &Places) -> u64 {
        // Version 5 counts only full work-groups, and gives the size of the last, smaller one as the remainder.
        let whole = |axis: usize| u64::from(self.grid[axis] / self.group[axis]);
        let group = |axis: usize| u64::from(self.group[axis]);
        let remainder = |axis: usize| u64::from(self.grid[axis] % self.group[axis]);
        match hidden {
            Hidden::None | Hidden::ToolCorrelationId => 0,
            Hidden::GlobalOffsetX => self.offset[0],
            Hidden::GlobalOffsetY => self.offset[1],
            Hidden::GlobalOffsetZ => self.offset[2],
            Hidden::BlockCountX => whole(0),
            Hidden::BlockCountY => whole(1),
            Hidden::BlockCountZ => whole(2),
            Hidden::GroupSizeX => group(0),
            Hidden::GroupSizeY => group(1),
            Hidden::GroupSizeZ => group(2),
            Hidden::RemainderX => remainder(0),
            Hidden::RemainderY => remainder(1),
            Hidden::RemainderZ => remainder(2),
            Hidden::GridDims => self.dims.into(),
            Hidden::DynamicLdsSize => u64::from(self.lds_size - self.kernel.lds_size),
            Hidden::PrivateBase => places.apertures.scratch.0 >> 32,
            Hidden::SharedBase => places.apertures.lds.0 >> 32,
            Hidden::QueuePtr => places.queue.0,
            Hidden::PrintfBuffer => self.printf_buffer.0,
            Hidden::HostcallBuffer => places.hostcall_buffer.0,
            Hidden::HeapV1 => places.heap.0,
            Hidden::DefaultQueue => places.default_queue.0,
            Hidden::CompletionAction => places.completion_action.0,
            Hidden::MultigridSync => places.multigrid_sync.0,
        }
    }
}

/// An argument in its source form: `float* a`.
fn describe(argument: &Argument) -> String {
    match (&argument.type_name, &argument.name) {
        (Some(type_name), Some(name)) => format!("{type_name} {name}"),
        (Some(only), None) | (None, Some(only)) => only.clone(),
        (None, None) => argument.kind.to_string(),
    }
}

fn signature(kernel: &Kernel) -> String {
    let arguments: Vec<String> = kernel
        .explicit_arguments()
        .map(|argument| format!("{} ({}, {} bytes)", describe(argument), argument.kind, argument.size))
        .collect();
    if arguments.is_empty() { "none".into() } else { arguments.join("; ") }
}

//! Kernels and their arguments.

use crate::state::{Read, Reader, State, Unreadable, state};
use gcn3::{
    dispatch::{ArgumentValue, MAX_GROUP},
    object::{AddressSpace, Argument, ArgumentKind, Kernel as Code},
};
use mem::VirtAddr;

use super::{
    call::{Call, DONE, Outcome, text, uint, word, words},
    cl,
    driver::Driver,
    error::{Cl, ensure},
    program::Program,
    table::Table,
};

/// The value of a kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Bytes(Vec<u8>),
    /// A buffer; 0 for a null pointer.
    Buffer(u64),
    Svm(VirtAddr),
    Local(u32),
    Image(u64),
    Sampler(u64),
}

state!(enum Value { 0 Bytes(bytes), 1 Buffer(handle), 2 Svm(address), 3 Local(bytes), 4 Image(handle), 5 Sampler(handle) });

#[derive(Clone, Debug)]
pub struct Kernel {
    pub program: u64,
    pub context: u64,
    pub code: Code,
    pub arguments: Vec<Argument>,
    pub values: Vec<Option<Value>>,
}

impl Kernel {
    /// Saves it; its code is found again by its name.
    pub fn save(&self, to: &mut Vec<u8>) {
        let Self { program, context, code, arguments: _, values } = self;
        (*program, *context).save(to);
        code.name.save(to);
        values.save(to);
    }

    pub fn load(from: &mut Reader, programs: &Table<Program>) -> Read<Self> {
        let (program, context) = State::load(from)?;
        let (name, values): (String, Vec<_>) = State::load(from)?;
        let object = programs.held(program).and_then(Program::executable);
        let object = object.map_err(|_| Unreadable::new("a kernel without a program"))?;
        let code = object.kernels().iter().find(|kernel| kernel.name == name);
        let code = code.ok_or_else(|| Unreadable(format!("the kernel '{name}' is not in its program")))?.clone();
        let arguments: Vec<Argument> = code.explicit_arguments().cloned().collect();
        if arguments.len() != values.len() {
            return Err(Unreadable(format!("the arguments of kernel '{name}'")));
        }
        Ok(Self { program, context, code, arguments, values })
    }

    /// The work-group size that the source requires; zeros if it requires none.
    fn required(&self) -> [u64; 3] {
        self.code.required_group.map_or([0; 3], |size| size.map(u64::from))
    }

    /// Local memory in bytes: the kernel's own, and that of its arguments set so far.
    fn local_bytes(&self) -> u64 {
        let of = |value: &Option<Value>| if let Some(Value::Local(size)) = value { u64::from(*size) } else { 0 };
        u64::from(self.code.lds_size) + self.values.iter().map(of).sum::<u64>()
    }
}

impl Driver {
    pub(super) fn create_kernel(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (handle, name) = (call.word(0), call.pointer(1));
        let object = self.programs.get(handle)?.executable()?;
        ensure(name.0 != 0, cl::INVALID_VALUE)?;
        let name = call.text(name)?;
        let code = object.kernels().iter().find(|kernel| kernel.name == name).ok_or(cl::INVALID_KERNEL_NAME)?;
        Ok(Outcome::word(self.make_kernel(handle, code.clone())?))
    }

    fn make_kernel(&mut self, handle: u64, code: Code) -> Cl<u64> {
        let arguments: Vec<Argument> = code.explicit_arguments().cloned().collect();
        let values = vec![None; arguments.len()];
        let program = self.programs.get_mut(handle)?;
        program.kernels += 1;
        let context = program.context;
        self.programs.hold(handle);
        Ok(self.kernels.insert(Kernel { program: handle, context, code, arguments, values }))
    }

    pub(super) fn create_kernels_in_program(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let object = self.programs.get(handle)?.executable()?;
        let count = object.kernels().len() as u32;
        if call.word(2) != 0 {
            ensure(call.uint(1) >= count, cl::INVALID_VALUE)?;
            let mut handles = Vec::new();
            for code in object.kernels() {
                handles.push(self.make_kernel(handle, code.clone())?);
            }
            call.give(2, &words(&handles))?;
        }
        call.give_uint(3, count)?;
        DONE
    }

    pub(super) fn clone_kernel(&mut self, call: &mut Call) -> Cl<Outcome> {
        let kernel = self.kernels.get(call.word(0))?.clone();
        self.programs.hold(kernel.program);
        self.programs.held_mut(kernel.program)?.kernels += 1;
        Ok(Outcome::word(self.kernels.insert(kernel)))
    }

    pub(super) fn release_kernel(&mut self, call: &mut Call) -> Cl<Outcome> {
        if let Some(kernel) = self.kernels.release(call.word(0))? {
            if let Ok(program) = self.programs.held_mut(kernel.program) {
                program.kernels -= 1;
            }
            self.unhold_program(kernel.program, call.guest);
        }
        DONE
    }

    pub(super) fn set_kernel_arg(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (handle, index, size, place) = (call.word(0), call.uint(1) as usize, call.word(2), call.pointer(3));
        let kernel = self.kernels.get(handle)?;
        let argument = kernel.arguments.get(index).ok_or(cl::INVALID_ARG_INDEX)?.clone();
        let value = match argument.kind {
            ArgumentKind::DynamicLds => {
                ensure(place.0 == 0, cl::INVALID_ARG_VALUE)?;
                ensure(size > 0, cl::INVALID_ARG_SIZE)?;
                // A size that is too large is rejected when the kernel is enqueued.
                Value::Local(size.min(u32::MAX.into()) as u32)
            }
            ArgumentKind::Value => {
                ensure(size == u64::from(argument.size), cl::INVALID_ARG_SIZE)?;
                ensure(place.0 != 0, cl::INVALID_ARG_VALUE)?;
                Value::Bytes(call.bytes(place, size)?)
            }
            ArgumentKind::Buffer => {
                ensure(size == 8, cl::INVALID_ARG_SIZE)?;
                let buffer = if place.0 == 0 { 0 } else { call.guest.read_u64(place)? };
                if buffer != 0 {
                    ensure(self.memories.get(buffer)?.image.is_none(), cl::INVALID_MEM_OBJECT)?;
                }
                Value::Buffer(buffer)
            }
            ArgumentKind::Image => {
                ensure(size == 8, cl::INVALID_ARG_SIZE)?;
                ensure(place.0 != 0, cl::INVALID_ARG_VALUE)?;
                let image = call.guest.read_u64(place)?;
                let kind = self.memories.get(image)?.image.ok_or(cl::INVALID_MEM_OBJECT)?.kind;
                let wanted = argument.type_name.as_deref().unwrap_or_default();
                let name = match kind {
                    cl::MEM_OBJECT_IMAGE1D => "image1d_t",
                    cl::MEM_OBJECT_IMAGE1D_BUFFER => "image1d_buffer_t",
                    cl::MEM_OBJECT_IMAGE1D_ARRAY => "image1d_array_t",
                    cl::MEM_OBJECT_IMAGE2D_ARRAY => "image2d_array_t",
                    cl::MEM_OBJECT_IMAGE3D => "image3d_t",
                    _ => "image2d_t",
                };
                ensure(wanted.is_empty() || wanted.contains(name), cl::INVALID_ARG_VALUE)?;
                Value::Image(image)
            }
            ArgumentKind::Sampler => {
                ensure(size == 8, cl::INVALID_ARG_SIZE)?;
                ensure(place.0 != 0, cl::INVALID_SAMPLER)?;
                let sampler = call.guest.read_u64(place)?;
                self.samplers.get(sampler)?;
                Value::Sampler(sampler)
            }
            ArgumentKind::Queue => return Err(cl::INVALID_DEVICE_QUEUE),
            ArgumentKind::Pipe | ArgumentKind::Hidden(_) => return Err(cl::INVALID_ARG_VALUE),
        };
        self.kernels.get_mut(handle)?.values[index] = Some(value);
        DONE
    }

    pub(super) fn set_kernel_arg_svm_pointer(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (index, pointer) = (call.uint(1) as usize, call.pointer(2));
        let kernel = self.kernels.get_mut(call.word(0))?;
        let argument = kernel.arguments.get(index).ok_or(cl::INVALID_ARG_INDEX)?;
        ensure(argument.kind == ArgumentKind::Buffer, cl::INVALID_ARG_VALUE)?;
        ensure(pointer.0 == 0 || self.svm.find(pointer).is_some(), cl::INVALID_ARG_VALUE)?;
        kernel.values[index] = Some(Value::Svm(pointer));
        DONE
    }

    /// Checks its arguments only: kernels can reach all shared virtual memory in any case.
    pub(super) fn set_kernel_exec_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.kernels.get(call.word(0))?;
        let (size, place) = (call.word(2), call.pointer(3));
        match u64::from(call.uint(1)) {
            _ if place.0 == 0 => Err(cl::INVALID_VALUE),
            cl::KERNEL_EXEC_INFO_SVM_PTRS => {
                ensure(size > 0 && size.is_multiple_of(8), cl::INVALID_VALUE)?;
                for pointer in call.words(place, size as usize / 8)? {
                    ensure(self.svm.find(VirtAddr(pointer)).is_some(), cl::INVALID_VALUE)?;
                }
                DONE
            }
            cl::KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM => {
                ensure(size == 4, cl::INVALID_VALUE)?;
                // Fine-grained sharing of memory that `clSVMAlloc` did not allocate is not supported.
                let wanted = call.guest.read_u32(place)? != 0;
                ensure(!wanted, cl::INVALID_OPERATION)?;
                DONE
            }
            _ => Err(cl::INVALID_VALUE),
        }
    }

    pub(super) fn get_kernel_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let kernel = self.kernels.get(handle)?;
        let value = match u64::from(call.uint(1)) {
            cl::KERNEL_FUNCTION_NAME => text(&kernel.code.name),
            cl::KERNEL_NUM_ARGS => uint(kernel.arguments.len() as u32),
            cl::KERNEL_REFERENCE_COUNT => uint(self.kernels.references(handle)?),
            cl::KERNEL_CONTEXT => word(kernel.context),
            cl::KERNEL_PROGRAM => word(kernel.program),
            cl::KERNEL_ATTRIBUTES => match kernel.code.required_group {
                Some([x, y, z]) => text(&format!("reqd_work_group_size({x},{y},{z})")),
                None => text(""),
            },
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &value)
    }

    pub(super) fn get_kernel_arg_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let kernel = self.kernels.get(call.word(0))?;
        let argument = kernel.arguments.get(call.uint(1) as usize).ok_or(cl::INVALID_ARG_INDEX)?;
        let known = |value: &Option<String>| value.as_deref().map(text).ok_or(cl::KERNEL_ARG_INFO_NOT_AVAILABLE);
        let image = argument.kind == ArgumentKind::Image;
        let value = match u64::from(call.uint(2)) {
            cl::KERNEL_ARG_ADDRESS_QUALIFIER => uint(match argument.address_space {
                _ if argument.kind == ArgumentKind::DynamicLds => cl::KERNEL_ARG_ADDRESS_LOCAL,
                Some(AddressSpace::Constant) => cl::KERNEL_ARG_ADDRESS_CONSTANT,
                Some(AddressSpace::Global) => cl::KERNEL_ARG_ADDRESS_GLOBAL,
                Some(AddressSpace::Local) => cl::KERNEL_ARG_ADDRESS_LOCAL,
                _ if image => cl::KERNEL_ARG_ADDRESS_GLOBAL,
                _ => cl::KERNEL_ARG_ADDRESS_PRIVATE,
            } as u32),
            cl::KERNEL_ARG_ACCESS_QUALIFIER => uint(match &argument.access {
                Some(access) if image && access == "write_only" => cl::KERNEL_ARG_ACCESS_WRITE_ONLY,
                Some(access) if image && access == "read_write" => cl::KERNEL_ARG_ACCESS_READ_WRITE,
                _ if image => cl::KERNEL_ARG_ACCESS_READ_ONLY,
                _ => cl::KERNEL_ARG_ACCESS_NONE,
            } as u32),
            cl::KERNEL_ARG_TYPE_NAME => known(&argument.type_name)?,
            cl::KERNEL_ARG_TYPE_QUALIFIER => {
                let bit = |is: bool, bit: u64| if is { bit } else { 0 };
                let constant = argument.is_const || argument.address_space == Some(AddressSpace::Constant);
                word(
                    bit(constant, cl::KERNEL_ARG_TYPE_CONST)
                        | bit(argument.is_restrict, cl::KERNEL_ARG_TYPE_RESTRICT)
                        | bit(argument.is_volatile, cl::KERNEL_ARG_TYPE_VOLATILE),
                )
            }
            cl::KERNEL_ARG_NAME => known(&argument.name)?,
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(3, &value)
    }

    /// The largest work-group of a kernel. A program with source can be recompiled for any size.
    fn largest_group(&self, kernel: &Kernel) -> u32 {
        let source = self.programs.held(kernel.program).is_ok_and(|program| program.has_source());
        let compiled = kernel.code.max_group.unwrap_or(MAX_GROUP);
        if source && kernel.code.required_group.is_none() { MAX_GROUP } else { compiled.min(MAX_GROUP) }
    }

    pub(super) fn get_kernel_work_group_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let kernel = self.kernels.get(call.word(0))?;
        if call.word(1) != 0 {
            let devices = &self.contexts.held(kernel.context)?.devices;
            ensure(devices.contains(&call.word(1)), cl::INVALID_DEVICE)?;
        }
        let value = match u64::from(call.uint(2)) {
            cl::KERNEL_WORK_GROUP_SIZE => word(self.largest_group(kernel).into()),
            cl::KERNEL_COMPILE_WORK_GROUP_SIZE => words(&kernel.required()),
            cl::KERNEL_LOCAL_MEM_SIZE => word(kernel.local_bytes()),
            cl::KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => word(64),
            cl::KERNEL_PRIVATE_MEM_SIZE => word(kernel.code.private_size.into()),
            // Only valid for built-in kernels.
            cl::KERNEL_GLOBAL_WORK_SIZE => return Err(cl::INVALID_VALUE),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(3, &value)
    }

    pub(super) fn get_kernel_sub_group_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let kernel = self.kernels.get(call.word(0))?.clone();
        let largest = self.largest_group(&kernel);
        let what = u64::from(call.uint(2));
        let (size, place) = (call.word(3), call.pointer(4));
        let value = match what {
            cl::KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE | cl::KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE => {
                ensure(place.0 != 0 && matches!(size, 8 | 16 | 24), cl::INVALID_VALUE)?;
                let items = call.words(place, size as usize / 8)?.iter().fold(1u64, |all, n| all.saturating_mul(*n));
                let count = what == cl::KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE;
                word(if count { items.div_ceil(64) } else { items.min(64) })
            }
            cl::KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT => {
                ensure(place.0 != 0 && size == 8, cl::INVALID_VALUE)?;
                let count = call.guest.read_u64(place)?;
                let items = count.saturating_mul(64);
                let dims = (call.word(5) / 8).clamp(1, 3) as usize;
                let fits = items <= u64::from(largest);
                words(&[if fits { items } else { 0 }, u64::from(fits), u64::from(fits)][..dims])
            }
            cl::KERNEL_MAX_NUM_SUB_GROUPS => word(u64::from(largest) / 64),
            cl::KERNEL_COMPILE_NUM_SUB_GROUPS => word(0),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(5, &value)
    }

    /// The arguments of a kernel for a launch, and the memory objects and samplers among them.
    pub(super) fn launch_arguments(&self, kernel: &Kernel) -> Cl<(Vec<ArgumentValue>, Vec<u64>, Vec<u64>)> {
        let (mut memories, mut samplers) = (Vec::new(), Vec::new());
        let mut values = Vec::new();
        for value in &kernel.values {
            values.push(match value.as_ref().ok_or(cl::INVALID_KERNEL_ARGS)? {
                Value::Bytes(bytes) => ArgumentValue::Bytes(bytes.clone()),
                Value::Local(size) => ArgumentValue::Local(*size),
                Value::Svm(pointer) => ArgumentValue::Pointer(*pointer),
                Value::Buffer(0) => ArgumentValue::Pointer(VirtAddr(0)),
                Value::Buffer(handle) => {
                    let memory = self.memories.held(*handle).map_err(|_| cl::INVALID_KERNEL_ARGS)?;
                    memories.push(*handle);
                    ArgumentValue::Pointer(memory.placement.device)
                }
                Value::Image(handle) => {
                    let memory = self.memories.held(*handle).map_err(|_| cl::INVALID_KERNEL_ARGS)?;
                    memories.push(*handle);
                    ArgumentValue::Pointer(memory.image.map_or(VirtAddr(0), |image| image.description))
                }
                Value::Sampler(handle) => {
                    let sampler = self.samplers.held(*handle).map_err(|_| cl::INVALID_KERNEL_ARGS)?;
                    samplers.push(*handle);
                    ArgumentValue::Pointer(sampler.description)
                }
            });
        }
        Ok((values, memories, samplers))
    }
}

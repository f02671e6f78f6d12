//! Enqueuing kernels: global sizes, offsets and work-group sizes.

use gcn3::{
    dispatch::{Dispatch, DispatchError, MAX_GROUP},
    object::Version,
};

use super::{
    call::{Call, Outcome},
    cl,
    command::{Command, Step},
    driver::Driver,
    error::{Cl, Code, ensure},
    kernel::Kernel,
    launch::Launch,
};

/// The maximum work-group size that the driver chooses if the program leaves it open.
const CHOSEN: u64 = 256;

/// The sizes of a launch.
struct Range {
    dims: u16,
    grid: [u64; 3],
    group: Option<[u64; 3]>,
    offset: [u64; 3],
}

impl Driver {
    pub(super) fn enqueue_nd_range_kernel(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (context, kernel) = self.kernel_for_queue(call)?;
        let dims = call.uint(2);
        ensure((1..=3).contains(&dims), cl::INVALID_WORK_DIMENSION)?;
        let mut axes = |n: usize, missing: u64| -> Cl<Option<[u64; 3]>> {
            let place = call.pointer(n);
            if place.0 == 0 {
                return Ok(None);
            }
            let mut sizes = [missing; 3];
            for (size, word) in sizes.iter_mut().zip(call.words(place, dims as usize)?) {
                *size = word;
            }
            Ok(Some(sizes))
        };
        let offset = axes(3, 0)?.unwrap_or([0; 3]);
        let grid = axes(4, 1)?.ok_or(cl::INVALID_GLOBAL_WORK_SIZE)?;
        let group = axes(5, 1)?;
        let waits = self.wait_list(call, 6, context)?;
        let range = Range { dims: dims as u16, grid, group, offset };
        self.launch(call, kernel, range, &waits, cl::COMMAND_NDRANGE_KERNEL, 8)
    }

    pub(super) fn enqueue_task(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (context, kernel) = self.kernel_for_queue(call)?;
        let waits = self.wait_list(call, 2, context)?;
        let range = Range { dims: 1, grid: [1; 3], group: Some([1; 3]), offset: [0; 3] };
        self.launch(call, kernel, range, &waits, cl::COMMAND_TASK, 4)
    }

    pub(super) fn enqueue_native_kernel(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.queues.get(call.word(0))?;
        ensure(call.word(1) != 0, cl::INVALID_VALUE)?;
        Err(cl::INVALID_OPERATION)
    }

    fn kernel_for_queue(&self, call: &Call) -> Cl<(u64, Kernel)> {
        let context = self.queues.get(call.word(0))?.context;
        let kernel = self.kernels.get(call.word(1))?;
        ensure(kernel.context == context, cl::INVALID_CONTEXT)?;
        ensure(kernel.values.iter().all(Option::is_some), cl::INVALID_KERNEL_ARGS)?;
        Ok((context, kernel.clone()))
    }

    fn launch(
        &mut self,
        call: &mut Call,
        kernel: Kernel,
        range: Range,
        waits: &[u64],
        kind: u64,
        event_at: usize,
    ) -> Cl<Outcome> {
        let most = u64::from(u32::MAX);
        ensure(range.grid.iter().all(|size| (1..=most).contains(size)), cl::INVALID_GLOBAL_WORK_SIZE)?;
        let ends = range.grid.iter().zip(&range.offset).all(|(size, offset)| size.checked_add(*offset).is_some());
        ensure(ends, cl::INVALID_GLOBAL_OFFSET)?;
        let group = match range.group {
            Some(group) => check_group(&kernel, range.grid, group)?,
            None => choose_group(&kernel, range.grid)?,
        };
        let items: u64 = group.iter().product();
        let wide = items > u64::from(kernel.code.max_group.unwrap_or(MAX_GROUP));
        let loaded = self.load_program(kernel.program, wide, call.guest)?;
        let code = loaded.object.kernels().iter().find(|code| code.name == kernel.code.name);
        let code = code.ok_or(cl::INVALID_KERNEL)?;
        let (values, memories, samplers) = self.launch_arguments(&kernel)?;
        let [grid, group] = [range.grid, group].map(|sizes| sizes.map(|size| size as u32));
        let mut dispatch = Dispatch::new(code, grid, group, range.offset).map_err(|error| self.refused(&error))?;
        dispatch = dispatch.with_dims(range.dims);
        if let Some(warning) = dispatch.warning()
            && self.warned.insert(warning.clone())
        {
            self.say(&warning);
        }
        dispatch.set_arguments(&values).map_err(|error| self.refused(&error))?;
        let placements: Vec<_> =
            memories.iter().filter_map(|memory| Some(self.memories.held(*memory).ok()?.placement)).collect();
        let (before, after) = self.policy.launch(&placements);
        let device = self.queues.get(call.word(0))?.device;
        let place = self.devices.iter().position(|known| known.handle == device);
        let gpu = place.filter(|_| self.settings.device_per_gpu);
        let bound = if self.is_paged() { self.bound_regions(&memories) } else { Vec::new() };
        let launch = Launch { program: loaded.program, formats: loaded.formats, dispatch, gpu, bound };
        let mut steps = before;
        steps.push(Step::Kernel(Box::new(launch)));
        steps.extend(after);
        let command = Command { kind, steps, memories, program: Some(kernel.program), samplers, ..Command::default() };
        let blocking = self.settings.blocking_launches;
        let outcome = self.enqueue_and_answer(call, call.word(0), waits, command, event_at, blocking)?;
        self.count_kernel();
        Ok(outcome)
    }

    /// The error code for a launch that the GPU can't execute; also tells the user why.
    fn refused(&self, error: &DispatchError) -> Code {
        let code = match error {
            DispatchError::Size { .. } | DispatchError::GroupTooLarge { .. } | DispatchError::GroupRequired { .. } => {
                cl::INVALID_WORK_GROUP_SIZE
            }
            DispatchError::OffsetUndescribed { .. } => cl::INVALID_GLOBAL_OFFSET,
            DispatchError::ArgumentCount { .. }
            | DispatchError::ArgumentKind { .. }
            | DispatchError::ArgumentSize { .. }
            | DispatchError::ArgumentUnsupported { .. } => cl::INVALID_KERNEL_ARGS,
            _ => cl::OUT_OF_RESOURCES,
        };
        self.say(&error.to_string());
        code
    }
}

/// Checks the work-group size that the program gave.
fn check_group(kernel: &Kernel, grid: [u64; 3], group: [u64; 3]) -> Cl<[u64; 3]> {
    ensure(!group.contains(&0), cl::INVALID_WORK_GROUP_SIZE)?;
    ensure(group.iter().all(|size| *size <= MAX_GROUP.into()), cl::INVALID_WORK_ITEM_SIZE)?;
    ensure(group.iter().product::<u64>() <= MAX_GROUP.into(), cl::INVALID_WORK_GROUP_SIZE)?;
    let even = grid.iter().zip(&group).all(|(all, size)| all.is_multiple_of(*size));
    // From version 5 on, a code object says whether it was compiled for work-groups of different sizes.
    let uniform = kernel.code.uniform_groups || kernel.code.version < Version::V5;
    ensure(even || !uniform, cl::INVALID_WORK_GROUP_SIZE)?;
    let required = kernel.code.required_group.map(|size| size.map(u64::from));
    ensure(required.is_none_or(|required| required == group), cl::INVALID_WORK_GROUP_SIZE)?;
    Ok(group)
}

/// Chooses a work-group size that divides the grid, as large as possible, the first axis first.
fn choose_group(kernel: &Kernel, grid: [u64; 3]) -> Cl<[u64; 3]> {
    if let Some(required) = kernel.code.required_group {
        return check_group(kernel, grid, required.map(u64::from));
    }
    let mut left = CHOSEN.min(kernel.code.max_group.unwrap_or(MAX_GROUP).into());
    Ok(grid.map(|all| {
        let size = (1..=left.min(all)).rev().find(|size| all.is_multiple_of(*size)).unwrap_or(1);
        left /= size;
        size
    }))
}

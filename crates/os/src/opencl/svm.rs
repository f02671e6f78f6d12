//! Shared virtual memory: one address for host and devices.

use crate::state::state;
use std::collections::BTreeMap;

use mem::{Bytes, VirtAddr};

use super::{
    abi::{Action, Rect},
    call::{Call, DONE, Outcome},
    cl,
    command::{Command, Step},
    device::LARGEST_BUFFER,
    driver::Driver,
    error::{Cl, ensure},
    policy::{MapAccess, PolicyKind},
    transfer::{check_pattern, map_access},
};
use crate::guest::GuestMemory;

/// An allocation of shared virtual memory.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    pub base: VirtAddr,
    pub size: Bytes,
}

state!(struct Allocation { base, size });

impl Allocation {
    /// Bytes from an address to the end.
    pub fn left(&self, address: VirtAddr) -> u64 {
        self.size.0 - (address - self.base).0
    }
}

/// All allocations, by address.
#[derive(Debug, Default)]
pub struct Allocations(BTreeMap<u64, Allocation>);

state!(tuple Allocations);

impl Allocations {
    /// The allocation that contains an address.
    pub fn find(&self, address: VirtAddr) -> Option<&Allocation> {
        let (_, allocation) = self.0.range(..=address.0).next_back()?;
        (address.0 - allocation.base.0 < allocation.size.0).then_some(allocation)
    }

    /// All allocations, by address.
    pub fn all(&self) -> impl Iterator<Item = (VirtAddr, Bytes)> {
        self.0.values().map(|allocation| (allocation.base, allocation.size))
    }

    fn take(&mut self, pointer: u64) -> Option<Allocation> {
        self.0.remove(&pointer)
    }
}

const KNOWN: u64 =
    cl::MEM_READ_WRITE | cl::MEM_WRITE_ONLY | cl::MEM_READ_ONLY | cl::MEM_SVM_FINE_GRAIN_BUFFER | cl::MEM_SVM_ATOMICS;

impl Driver {
    pub(super) fn svm_alloc(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (context, flags, size, alignment) = (call.word(0), call.word(1), call.word(2), call.uint(3));
        self.contexts.get(context)?;
        ensure(flags & !KNOWN == 0 && size > 0 && size <= LARGEST_BUFFER, cl::INVALID_VALUE)?;
        ensure(flags & cl::MEM_SVM_ATOMICS == 0 || flags & cl::MEM_SVM_FINE_GRAIN_BUFFER != 0, cl::INVALID_VALUE)?;
        if flags & cl::MEM_SVM_FINE_GRAIN_BUFFER != 0 && !self.is_fine_grained() {
            self.say(
                "fine-grained shared virtual memory is refused: on this machine host and kernels see what the other \
                 has written when a kernel starts and ends, not while it runs",
            );
            return Err(cl::INVALID_VALUE);
        }
        // Mappings are page-aligned, which is more than any type needs.
        ensure(alignment == 0 || alignment.is_power_of_two() && alignment <= 128, cl::INVALID_VALUE)?;
        let base = call.guest.map_anonymous(Bytes(size))?;
        call.guest.populate(base, Bytes(size));
        if let Err(code) = self.settle_region((base, Bytes(size)), context, call.guest) {
            call.guest.unmap(base, Bytes(size));
            return Err(code);
        }
        self.svm.0.insert(base.0, Allocation { base, size: Bytes(size) });
        self.touched.push((base, Bytes(size)));
        Ok(Outcome::word(base.0))
    }

    pub(super) fn svm_free(&mut self, call: &mut Call) -> Cl<Outcome> {
        let pointer = call.word(1);
        self.free_svm(pointer, call.guest);
        DONE
    }

    pub(super) fn free_svm(&mut self, pointer: u64, guest: &mut dyn GuestMemory) {
        if let Some(allocation) = self.svm.take(pointer) {
            self.svm_written.remove(&pointer);
            self.free_region((allocation.base, allocation.size), guest);
        }
    }

    /// Whether host and kernels see each other's writes while a kernel runs.
    pub(super) fn is_fine_grained(&self) -> bool {
        let alike =
            !self.tables.is_split() || matches!(self.settings.policy, PolicyKind::ZeroCopy | PolicyKind::ManagedFault);
        alike && self.gpus.is_fine_grained()
    }

    /// Enqueues a command on shared virtual memory whose wait list starts with argument `list`.
    fn enqueue_svm(
        &mut self,
        call: &mut Call,
        list: usize,
        blocking: bool,
        kind: u64,
        steps: Vec<Step>,
    ) -> Cl<Outcome> {
        let queue = call.word(0);
        let context = self.queues.get(queue)?.context;
        let waits = self.wait_list(call, list, context)?;
        let command = Command { kind, steps, ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, list + 2, blocking)
    }

    pub(super) fn enqueue_svm_free(&mut self, call: &mut Call) -> Cl<Outcome> {
        let queue = call.word(0);
        self.queues.get(queue)?;
        let (count, list, function, data) = (call.uint(1), call.pointer(2), call.pointer(3), call.word(4));
        ensure(count > 0 && list.0 != 0, cl::INVALID_VALUE)?;
        let pointers = call.words(list, count as usize)?;
        ensure(pointers.iter().all(|pointer| *pointer != 0), cl::INVALID_VALUE)?;
        let step = match function {
            VirtAddr(0) => Step::FreeSvm(pointers),
            function => Step::Guest(Action::Call { function, arguments: [queue, count.into(), list.0, data] }),
        };
        self.enqueue_svm(call, 5, false, cl::COMMAND_SVM_FREE, vec![step])
    }

    pub(super) fn enqueue_svm_memcpy(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (to, from, size) = (call.pointer(2), call.pointer(3), call.word(4));
        ensure(to.0 != 0 && from.0 != 0, cl::INVALID_VALUE)?;
        let apart = to.0.abs_diff(from.0) >= size;
        ensure(apart || size == 0, cl::MEM_COPY_OVERLAP)?;
        let rect = Rect::line(to, from, size);
        // The device copies between allocations that it knows; copies of ordinary program memory are done by the
        // program.
        let step = match [to, from].map(|at| self.svm.find(at).is_some()) {
            [true, true] => Step::Copy(rect),
            [true, false] => Step::Write(rect),
            [false, true] => Step::Read(rect),
            [false, false] => Step::Guest(Action::Copy(rect)),
        };
        let blocking = call.flag(1);
        self.enqueue_svm(call, 5, blocking, cl::COMMAND_SVM_MEMCPY, vec![step])
    }

    pub(super) fn enqueue_svm_mem_fill(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (to, size) = (call.pointer(1), call.word(4));
        ensure(to.0 != 0, cl::INVALID_VALUE)?;
        let pattern = check_pattern(call, 2, 3)?;
        let length = pattern.len() as u64;
        ensure(to.0.is_multiple_of(length) && size.is_multiple_of(length), cl::INVALID_VALUE)?;
        let step = Step::Fill { pattern, rows: Rect::line(to, to, size) };
        self.enqueue_svm(call, 5, false, cl::COMMAND_SVM_MEMFILL, vec![step])
    }

    pub(super) fn enqueue_svm_map(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (blocking, pointer, size) = (call.flag(1), call.pointer(3), call.word(4));
        let access: MapAccess = map_access(call.word(2))?;
        ensure(pointer.0 != 0 && size > 0, cl::INVALID_VALUE)?;
        let allocation = self.svm.find(pointer).filter(|allocation| size <= allocation.left(pointer));
        let base = allocation.ok_or(cl::INVALID_VALUE)?.base.0;
        if access.write {
            self.svm_maps.insert(pointer.0, base);
            *self.svm_written.entry(base).or_default() += 1;
        }
        let steps = self.policy.svm_map(pointer, Bytes(size), access);
        let steps = self.flushed_map(pointer, Bytes(size), steps);
        self.enqueue_svm(call, 5, blocking, cl::COMMAND_SVM_MAP, steps)
    }

    pub(super) fn enqueue_svm_unmap(&mut self, call: &mut Call) -> Cl<Outcome> {
        let pointer = call.pointer(1);
        ensure(pointer.0 != 0, cl::INVALID_VALUE)?;
        let allocation = *self.svm.find(pointer).ok_or(cl::INVALID_VALUE)?;
        let left = Bytes(allocation.left(pointer));
        if let Some(base) = self.svm_maps.remove(&pointer.0)
            && let Some(count) = self.svm_written.get_mut(&base)
        {
            *count -= 1;
            if *count == 0 {
                self.svm_written.remove(&base);
            }
        }
        self.touched.push((pointer, left));
        let steps = self.policy.svm_unmap(pointer, left);
        self.enqueue_svm(call, 2, false, cl::COMMAND_SVM_UNMAP, steps)
    }

    pub(super) fn enqueue_svm_migrate_mem(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (count, list, flags) = (call.uint(1), call.pointer(2), call.word(4));
        ensure(count > 0 && list.0 != 0, cl::INVALID_VALUE)?;
        let known = cl::MIGRATE_MEM_OBJECT_HOST | cl::MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
        ensure(flags & !known == 0, cl::INVALID_VALUE)?;
        let pointers = call.words(list, count as usize)?;
        let sizes =
            if call.word(3) == 0 { vec![0; pointers.len()] } else { call.words(call.pointer(3), pointers.len())? };
        let mut regions = Vec::new();
        for (pointer, size) in pointers.into_iter().map(VirtAddr).zip(sizes) {
            let left = self.svm.find(pointer).ok_or(cl::INVALID_VALUE)?.left(pointer);
            ensure(size <= left, cl::INVALID_VALUE)?;
            // Size 0 means the rest of the allocation.
            regions.push((pointer, Bytes(if size == 0 { left } else { size })));
        }
        let steps = self.migrate_steps(call.word(0), &regions, flags)?;
        self.enqueue_svm(call, 5, false, cl::COMMAND_SVM_MIGRATE_MEM, steps)
    }
}

//! Shared virtual memory: one piece of memory, one address, for host and devices.

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
    policy::MapAccess,
    transfer::{check_pattern, map_access},
};
use crate::guest::GuestMemory;

/// A piece of shared virtual memory.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    pub base: VirtAddr,
    pub size: Bytes,
}

impl Allocation {
    /// Bytes from an address to the end.
    pub fn left(&self, address: VirtAddr) -> u64 {
        self.size.0 - (address - self.base).0
    }
}

/// All pieces, by address.
#[derive(Debug, Default)]
pub struct Allocations(BTreeMap<u64, Allocation>);

impl Allocations {
    /// The piece that holds an address.
    pub fn find(&self, address: VirtAddr) -> Option<&Allocation> {
        let (_, allocation) = self.0.range(..=address.0).next_back()?;
        (address.0 - allocation.base.0 < allocation.size.0).then_some(allocation)
    }

    /// All pieces, by address.
    pub fn all(&self) -> impl Iterator<Item = (VirtAddr, Bytes)> {
        self.0.values().map(|allocation| (allocation.base, allocation.size))
    }

    pub fn free(&mut self, guest: &mut dyn GuestMemory, pointer: u64) {
        if let Some(allocation) = self.0.remove(&pointer) {
            guest.unmap(allocation.base, allocation.size);
        }
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
        if flags & cl::MEM_SVM_FINE_GRAIN_BUFFER != 0 && !self.gpus.is_fine_grained() {
            self.say(
                "fine-grained shared virtual memory is refused: on this machine host and kernels see what the other \
                 has written when a kernel starts and ends, not while it runs",
            );
            return Err(cl::INVALID_VALUE);
        }
        // Pages are aligned to more than any type needs.
        ensure(alignment == 0 || alignment.is_power_of_two() && alignment <= 128, cl::INVALID_VALUE)?;
        let base = call.guest.map_anonymous(Bytes(size))?;
        call.guest.populate(base, Bytes(size));
        self.svm.0.insert(base.0, Allocation { base, size: Bytes(size) });
        self.touched.push((base, Bytes(size)));
        Ok(Outcome::word(base.0))
    }

    pub(super) fn svm_free(&mut self, call: &mut Call) -> Cl<Outcome> {
        let pointer = call.word(1);
        self.svm.free(call.guest, pointer);
        DONE
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
        // Between pieces that the device knows, it copies; memory of the program alone is the program's to copy.
        let device = self.svm.find(to).is_some() && self.svm.find(from).is_some();
        let step = if device { Step::Copy(rect) } else { Step::Guest(Action::Copy(rect)) };
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
        let inside = self.svm.find(pointer).is_some_and(|allocation| size <= allocation.left(pointer));
        ensure(inside, cl::INVALID_VALUE)?;
        let steps = self.policy.svm_map(pointer, Bytes(size), access);
        self.enqueue_svm(call, 5, blocking, cl::COMMAND_SVM_MAP, steps)
    }

    pub(super) fn enqueue_svm_unmap(&mut self, call: &mut Call) -> Cl<Outcome> {
        let pointer = call.pointer(1);
        ensure(pointer.0 != 0, cl::INVALID_VALUE)?;
        let allocation = *self.svm.find(pointer).ok_or(cl::INVALID_VALUE)?;
        let left = Bytes(allocation.left(pointer));
        self.touched.push((pointer, left));
        let steps = self.policy.svm_unmap(pointer, left);
        self.enqueue_svm(call, 2, false, cl::COMMAND_SVM_UNMAP, steps)
    }

    pub(super) fn enqueue_svm_migrate_mem(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (count, list, flags) = (call.uint(1), call.pointer(2), call.word(4));
        ensure(count > 0 && list.0 != 0, cl::INVALID_VALUE)?;
        let known = cl::MIGRATE_MEM_OBJECT_HOST | cl::MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
        ensure(flags & !known == 0, cl::INVALID_VALUE)?;
        for pointer in call.words(list, count as usize)? {
            ensure(self.svm.find(VirtAddr(pointer)).is_some(), cl::INVALID_VALUE)?;
        }
        self.enqueue_svm(call, 5, false, cl::COMMAND_SVM_MIGRATE_MEM, Vec::new())
    }
}

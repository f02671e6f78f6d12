//! Commands that transfer bytes of buffers: read, write, copy, fill, map and unmap.

use mem::{Bytes, PAGE};

use super::{
    abi::Rect,
    call::{Call, Outcome},
    cl,
    command::{Command, Step},
    device_memory::Region,
    driver::Driver,
    error::{Cl, ensure},
    memory::MemObject,
    policy::{Layout, MapAccess, Mapping, MemoryPolicy, Part, Placement, PolicyKind},
};

/// Converts the flags of a map.
pub fn map_access(flags: u64) -> Cl<MapAccess> {
    let invalidate = flags & cl::MAP_WRITE_INVALIDATE_REGION != 0;
    let known = cl::MAP_READ | cl::MAP_WRITE | cl::MAP_WRITE_INVALIDATE_REGION;
    ensure(flags & !known == 0, cl::INVALID_VALUE)?;
    ensure(!invalidate || flags & (cl::MAP_READ | cl::MAP_WRITE) == 0, cl::INVALID_VALUE)?;
    Ok(MapAccess { fetch: !invalidate, write: flags & cl::MAP_WRITE != 0 || invalidate })
}

/// Reads and checks the pattern of a fill; the arguments are its address and size.
pub fn check_pattern(call: &mut Call, place: usize, size: usize) -> Cl<Vec<u8>> {
    let (place, size) = (call.pointer(place), call.word(size));
    ensure(place.0 != 0 && size.is_power_of_two() && size <= 128, cl::INVALID_VALUE)?;
    call.bytes(place, size)
}

impl Layout {
    /// Checks pitches against the region, and replaces zeros by tight packing.
    fn new(origin: [u64; 3], region: [u64; 3], row: u64, slice: u64) -> Cl<Self> {
        let row = if row == 0 { region[0] } else { row };
        let plane = region[1].checked_mul(row).ok_or(cl::INVALID_VALUE)?;
        let slice = if slice == 0 { plane } else { slice };
        ensure(row >= region[0] && slice >= plane && slice.is_multiple_of(row), cl::INVALID_VALUE)?;
        let parts = [Some(origin[0]), origin[1].checked_mul(row), origin[2].checked_mul(slice)];
        let offset = parts.into_iter().try_fold(0u64, |sum, part| sum.checked_add(part?)).ok_or(cl::INVALID_VALUE)?;
        Ok(Self { offset, pitch: [row, slice] })
    }

    /// The offset of the first byte after the region.
    fn end(&self, region: [u64; 3]) -> Cl<u64> {
        let along = |count: u64, pitch: u64| (count - 1).checked_mul(pitch);
        let parts = [Some(region[0]), along(region[1], self.pitch[0]), along(region[2], self.pitch[1])];
        parts.into_iter().try_fold(self.offset, |sum, part| sum.checked_add(part?)).ok_or(cl::INVALID_VALUE)
    }
}

impl Driver {
    /// Looks up a buffer (not an image), which must belong to the queue's context.
    pub(super) fn buffer_for(&self, context: u64, buffer: u64) -> Cl<&MemObject> {
        let memory = self.memories.get(buffer)?;
        ensure(memory.image.is_none(), cl::INVALID_MEM_OBJECT)?;
        ensure(memory.context == context, cl::INVALID_CONTEXT)?;
        Ok(memory)
    }

    /// Enqueues a command, hands its event over, and blocks if the program asked for it.
    pub(super) fn enqueue_and_answer(
        &mut self,
        call: &mut Call,
        queue: u64,
        waits: &[u64],
        command: Command,
        event_at: usize,
        blocking: bool,
    ) -> Cl<Outcome> {
        let event = self.enqueue(queue, waits, command, call.now)?;
        let outcome = match blocking {
            true => self.until(vec![event], Some(cl::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)),
            false => Outcome::default(),
        };
        self.give_event(call, event_at, event)?;
        Ok(outcome)
    }

    pub(super) fn enqueue_read_write(&mut self, call: &mut Call, write: bool) -> Cl<Outcome> {
        let (queue, handle, blocking) = (call.word(0), call.word(1), call.flag(2));
        let (offset, size, host) = (call.word(3), call.word(4), call.pointer(5));
        let context = self.queues.get(queue)?.context;
        let buffer = self.buffer_for(context, handle)?;
        ensure(host.0 != 0, cl::INVALID_VALUE)?;
        buffer.check_range(offset, size)?;
        check_host_access(buffer, write)?;
        let device = buffer.placement.device + Bytes(offset);
        let waits = self.wait_list(call, 6, context)?;
        let (steps, kind) = match write {
            true => (self.policy.write(Rect::line(device, host, size)), cl::COMMAND_WRITE_BUFFER),
            false => (self.policy.read(Rect::line(host, device, size)), cl::COMMAND_READ_BUFFER),
        };
        let command = Command { kind, steps, memories: vec![handle], ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, 8, blocking)
    }

    pub(super) fn enqueue_read_write_rect(&mut self, call: &mut Call, write: bool) -> Cl<Outcome> {
        let (queue, handle, blocking, host) = (call.word(0), call.word(1), call.flag(2), call.pointer(10));
        let context = self.queues.get(queue)?.context;
        self.buffer_for(context, handle)?;
        let (buffer_origin, host_origin, region) = (call.triple(3)?, call.triple(4)?, call.triple(5)?);
        ensure(host.0 != 0 && !region.contains(&0), cl::INVALID_VALUE)?;
        let there = Layout::new(buffer_origin, region, call.word(6), call.word(7))?;
        let here = Layout::new(host_origin, region, call.word(8), call.word(9))?;
        let buffer = self.buffer_for(context, handle)?;
        buffer.check_range(0, there.end(region)?)?;
        check_host_access(buffer, write)?;
        let (device, host) = (buffer.placement.device + Bytes(there.offset), host + Bytes(here.offset));
        let waits = self.wait_list(call, 11, context)?;
        let size = region;
        let (steps, kind) = match write {
            true => {
                let rect = Rect { to: device, from: host, size, to_pitch: there.pitch, from_pitch: here.pitch };
                (self.policy.write(rect), cl::COMMAND_WRITE_BUFFER_RECT)
            }
            false => {
                let rect = Rect { to: host, from: device, size, to_pitch: here.pitch, from_pitch: there.pitch };
                (self.policy.read(rect), cl::COMMAND_READ_BUFFER_RECT)
            }
        };
        let command = Command { kind, steps, memories: vec![handle], ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, 13, blocking)
    }

    pub(super) fn enqueue_fill_buffer(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, handle, offset, size) = (call.word(0), call.word(1), call.word(4), call.word(5));
        let context = self.queues.get(queue)?.context;
        self.buffer_for(context, handle)?.check_range(offset, size)?;
        let pattern = check_pattern(call, 2, 3)?;
        let length = pattern.len() as u64;
        ensure(offset.is_multiple_of(length) && size.is_multiple_of(length), cl::INVALID_VALUE)?;
        let to = self.buffer_for(context, handle)?.placement.device + Bytes(offset);
        let waits = self.wait_list(call, 6, context)?;
        let steps = vec![Step::Fill { pattern, rows: Rect::line(to, to, size) }];
        let command = Command { kind: cl::COMMAND_FILL_BUFFER, steps, memories: vec![handle], ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, 8, false)
    }

    pub(super) fn enqueue_copy_buffer(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, from, to) = (call.word(0), call.word(1), call.word(2));
        let (from_offset, to_offset, size) = (call.word(3), call.word(4), call.word(5));
        let context = self.queues.get(queue)?.context;
        let (source, target) = (self.buffer_for(context, from)?, self.buffer_for(context, to)?);
        source.check_range(from_offset, size)?;
        target.check_range(to_offset, size)?;
        ensure(size > 0, cl::INVALID_VALUE)?;
        let (source, target) =
            (source.placement.device + Bytes(from_offset), target.placement.device + Bytes(to_offset));
        ensure(source.0.abs_diff(target.0) >= size, cl::MEM_COPY_OVERLAP)?;
        let waits = self.wait_list(call, 6, context)?;
        let steps = vec![Step::Copy(Rect::line(target, source, size))];
        let command = Command { kind: cl::COMMAND_COPY_BUFFER, steps, memories: vec![from, to], ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, 8, false)
    }

    pub(super) fn enqueue_copy_buffer_rect(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, from, to) = (call.word(0), call.word(1), call.word(2));
        let context = self.queues.get(queue)?.context;
        self.buffer_for(context, from)?;
        self.buffer_for(context, to)?;
        let (from_origin, to_origin, region) = (call.triple(3)?, call.triple(4)?, call.triple(5)?);
        ensure(!region.contains(&0), cl::INVALID_VALUE)?;
        let there = Layout::new(from_origin, region, call.word(6), call.word(7))?;
        let here = Layout::new(to_origin, region, call.word(8), call.word(9))?;
        let (source, target) = (self.buffer_for(context, from)?, self.buffer_for(context, to)?);
        source.check_range(0, there.end(region)?)?;
        target.check_range(0, here.end(region)?)?;
        if from == to {
            ensure(here.pitch == there.pitch, cl::INVALID_VALUE)?;
            ensure(!boxes_overlap(from_origin, to_origin, region), cl::MEM_COPY_OVERLAP)?;
        }
        let rect = Rect {
            to: target.placement.device + Bytes(here.offset),
            from: source.placement.device + Bytes(there.offset),
            size: region,
            to_pitch: here.pitch,
            from_pitch: there.pitch,
        };
        let waits = self.wait_list(call, 10, context)?;
        let steps = vec![Step::Copy(rect)];
        let kind = cl::COMMAND_COPY_BUFFER_RECT;
        let command = Command { kind, steps, memories: vec![from, to], ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, 12, false)
    }

    pub(super) fn enqueue_map_buffer(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, handle, blocking) = (call.word(0), call.word(1), call.flag(2));
        let (offset, size) = (call.word(4), call.word(5));
        let context = self.queues.get(queue)?.context;
        let buffer = self.buffer_for(context, handle)?;
        let access = map_access(call.word(3))?;
        ensure(size > 0, cl::INVALID_VALUE)?;
        buffer.check_range(offset, size)?;
        check_map_access(buffer, call.word(3))?;
        let waits = self.wait_list(call, 6, context)?;
        let (mapping, steps) = self.map(call, handle, Part::line(offset, size), access)?;
        let command = Command { kind: cl::COMMAND_MAP_BUFFER, steps, memories: vec![handle], ..Command::default() };
        let outcome = self.enqueue_and_answer(call, queue, &waits, command, 8, blocking)?;
        Ok(Outcome { word: mapping.pointer.0, ..outcome })
    }

    /// Maps a part of a buffer or image; returns the mapping and the steps it needs.
    pub(super) fn map(
        &mut self,
        call: &mut Call,
        handle: u64,
        part: Part,
        access: MapAccess,
    ) -> Cl<(Mapping, Vec<Step>)> {
        let memory = self.memories.get(handle)?;
        let mut own = self.own_policy(&memory.placement);
        let policy = own.as_mut().unwrap_or(&mut self.policy);
        let (mapping, steps) = policy.map(call.guest, &memory.placement, part, access)?;
        let steps = match self.settings.policy {
            // Its steps read the buffer, and are preceded by a flush themselves.
            PolicyKind::Memcpy => steps,
            _ => {
                let (address, size) = mapping.rect.ranges()[1];
                self.flushed_map(address, size, steps)
            }
        };
        self.memories.get_mut(handle)?.mappings.push(mapping);
        Ok((mapping, steps))
    }

    pub(super) fn enqueue_unmap_mem_object(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, handle, pointer) = (call.word(0), call.word(1), call.pointer(2));
        let context = self.queues.get(queue)?.context;
        let memory = self.memories.get(handle)?;
        ensure(memory.context == context, cl::INVALID_CONTEXT)?;
        let waits = self.wait_list(call, 3, context)?;
        let mut own = self.own_policy(&memory.placement);
        let memory = self.memories.get_mut(handle)?;
        let place = memory.mappings.iter().rposition(|mapping| mapping.pointer == pointer);
        let mapping = memory.mappings.remove(place.ok_or(cl::INVALID_VALUE)?);
        self.touched.extend(mapping.rect.ranges());
        let steps = own.as_mut().unwrap_or(&mut self.policy).unmap(&mapping);
        let kind = cl::COMMAND_UNMAP_MEM_OBJECT;
        let command = Command { kind, steps, memories: vec![handle], ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, 5, false)
    }

    pub(super) fn enqueue_migrate_mem_objects(&mut self, call: &mut Call) -> Cl<Outcome> {
        let queue = call.word(0);
        let context = self.queues.get(queue)?.context;
        ensure(call.uint(1) > 0 && call.word(2) != 0, cl::INVALID_VALUE)?;
        let known = cl::MIGRATE_MEM_OBJECT_HOST | cl::MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
        ensure(call.word(3) & !known == 0, cl::INVALID_VALUE)?;
        let memories = call.list(1, 2, cl::INVALID_VALUE)?;
        for memory in &memories {
            ensure(self.memories.get(*memory)?.context == context, cl::INVALID_CONTEXT)?;
        }
        let waits = self.wait_list(call, 4, context)?;
        let regions: Vec<Region> = memories
            .iter()
            .filter_map(|memory| self.memories.held(*memory).ok())
            .map(|memory| (memory.placement.device, memory.placement.size))
            .collect();
        let steps = self.migrate_steps(queue, &regions, call.word(3))?;
        let command = Command { kind: cl::COMMAND_MIGRATE_MEM_OBJECTS, steps, memories, ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, 6, false)
    }

    /// Steps that migrate regions to the device of a queue or to the host, under a paging policy. A device of several
    /// GPUs gets one range per GPU.
    pub(super) fn migrate_steps(&self, queue: u64, regions: &[Region], flags: u64) -> Cl<Vec<Step>> {
        let undefined = flags & cl::MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED != 0;
        if flags & cl::MIGRATE_MEM_OBJECT_HOST != 0 {
            return Ok(self.migrate_step(regions.to_vec(), None, undefined));
        }
        let device = self.queues.get(queue)?.device;
        let place = self.devices.iter().position(|known| known.handle == device).unwrap_or(0);
        if self.settings.device_per_gpu {
            return Ok(self.migrate_step(regions.to_vec(), Some(place), undefined));
        }
        let gpus = self.tables.gpus as u64;
        let part = |(base, size): &Region, n: u64| {
            let border = |n: u64| if n == gpus { size.0 } else { (size.0 * n / gpus) / PAGE * PAGE };
            (*base + Bytes(border(n)), Bytes(border(n + 1) - border(n)))
        };
        let parts = |n: u64| regions.iter().map(|region| part(region, n)).collect();
        Ok((0..gpus).flat_map(|n| self.migrate_step(parts(n), Some(n as usize), undefined)).collect())
    }

    /// The policy for a buffer over program memory, which overrides the driver's: sharing if devices use that memory
    /// itself (shared virtual memory), else copying. None under `memcpy` with split memories, which copies between the
    /// two frames of an address.
    fn own_policy(&self, placement: &Placement) -> Option<Box<dyn MemoryPolicy>> {
        let host = placement.host?;
        if self.tables.is_split() && self.settings.policy == PolicyKind::Memcpy {
            return None;
        }
        let kind = if host == placement.device { PolicyKind::Shared } else { PolicyKind::Memcpy };
        Some(kind.make())
    }
}

/// Checks that the object's flags allow the host's access.
pub fn check_host_access(memory: &MemObject, write: bool) -> Cl<()> {
    let refused = if write { cl::MEM_HOST_READ_ONLY } else { cl::MEM_HOST_WRITE_ONLY };
    ensure(memory.flags & (refused | cl::MEM_HOST_NO_ACCESS) == 0, cl::INVALID_OPERATION)
}

pub fn check_map_access(memory: &MemObject, flags: u64) -> Cl<()> {
    if flags & cl::MAP_READ != 0 {
        check_host_access(memory, false)?;
    }
    if flags & (cl::MAP_WRITE | cl::MAP_WRITE_INVALIDATE_REGION) != 0 {
        check_host_access(memory, true)?;
    }
    Ok(())
}

/// Whether two boxes of the same size overlap.
pub fn boxes_overlap(one: [u64; 3], other: [u64; 3], region: [u64; 3]) -> bool {
    (0..3).all(|axis| one[axis].abs_diff(other[axis]) < region[axis])
}

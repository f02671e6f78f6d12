//! Commands that transfer texels: read, write, copy, fill and map of images.

use mem::Bytes;

use super::{
    abi::Rect,
    call::{Call, Outcome},
    cl,
    command::{Command, Step},
    driver::Driver,
    error::{Cl, ensure},
    image::Image,
    memory::MemObject,
    policy::{Layout, Part},
    transfer::{boxes_overlap, check_host_access, check_map_access, map_access},
};

impl Driver {
    /// Looks up an image, which must belong to the queue's context.
    fn image_for(&self, context: u64, handle: u64) -> Cl<(&MemObject, Image)> {
        let memory = self.memories.get(handle)?;
        let image = memory.image.ok_or(cl::INVALID_MEM_OBJECT)?;
        ensure(memory.context == context, cl::INVALID_CONTEXT)?;
        Ok((memory, image))
    }

    pub(super) fn enqueue_read_write_image(&mut self, call: &mut Call, write: bool) -> Cl<Outcome> {
        let (queue, handle, blocking, host) = (call.word(0), call.word(1), call.flag(2), call.pointer(7));
        let context = self.queues.get(queue)?.context;
        self.image_for(context, handle)?;
        let (origin, region) = (call.triple(3)?, call.triple(4)?);
        let (memory, image) = self.image_for(context, handle)?;
        image.check_region(origin, region)?;
        check_host_access(memory, write)?;
        ensure(host.0 != 0, cl::INVALID_VALUE)?;
        let here = host_pitch(&image, region, [call.word(5), call.word(6)])?;
        let Layout { offset, pitch: there } = image.layout(origin);
        let device = memory.placement.device + Bytes(offset);
        let size = image.bytes(region);
        let waits = self.wait_list(call, 8, context)?;
        let (steps, kind) = match write {
            true => {
                let rect = Rect { to: device, from: host, size, to_pitch: there, from_pitch: here };
                (self.policy.write(rect), cl::COMMAND_WRITE_IMAGE)
            }
            false => {
                let rect = Rect { to: host, from: device, size, to_pitch: here, from_pitch: there };
                (self.policy.read(rect), cl::COMMAND_READ_IMAGE)
            }
        };
        let command = Command { kind, steps, memories: vec![handle], ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, 10, blocking)
    }

    pub(super) fn enqueue_fill_image(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, handle, colour) = (call.word(0), call.word(1), call.pointer(2));
        let context = self.queues.get(queue)?.context;
        self.image_for(context, handle)?;
        ensure(colour.0 != 0, cl::INVALID_VALUE)?;
        let (origin, region) = (call.triple(3)?, call.triple(4)?);
        let bytes = call.bytes(colour, 16)?;
        let colour = std::array::from_fn(|n| u32::from_le_bytes(std::array::from_fn(|k| bytes[4 * n + k])));
        let (memory, image) = self.image_for(context, handle)?;
        image.check_region(origin, region)?;
        let Layout { offset, pitch } = image.layout(origin);
        let to = memory.placement.device + Bytes(offset);
        let rows = Rect { to, from: to, size: image.bytes(region), to_pitch: pitch, from_pitch: pitch };
        let steps = vec![Step::Fill { pattern: image.format.pack(colour), rows }];
        let waits = self.wait_list(call, 5, context)?;
        let command = Command { kind: cl::COMMAND_FILL_IMAGE, steps, memories: vec![handle], ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, 7, false)
    }

    pub(super) fn enqueue_copy_image(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, from, to) = (call.word(0), call.word(1), call.word(2));
        let context = self.queues.get(queue)?.context;
        self.image_for(context, from)?;
        self.image_for(context, to)?;
        let (from_origin, to_origin, region) = (call.triple(3)?, call.triple(4)?, call.triple(5)?);
        let ((source, image), (target, other)) = (self.image_for(context, from)?, self.image_for(context, to)?);
        ensure(image.format == other.format, cl::IMAGE_FORMAT_MISMATCH)?;
        image.check_region(from_origin, region)?;
        other.check_region(to_origin, region)?;
        ensure(from != to || !boxes_overlap(from_origin, to_origin, region), cl::MEM_COPY_OVERLAP)?;
        let (there, here) = (image.layout(from_origin), other.layout(to_origin));
        let rect = Rect {
            to: target.placement.device + Bytes(here.offset),
            from: source.placement.device + Bytes(there.offset),
            size: image.bytes(region),
            to_pitch: here.pitch,
            from_pitch: there.pitch,
        };
        self.enqueue_image_copy(call, 6, cl::COMMAND_COPY_IMAGE, rect, vec![from, to])
    }

    pub(super) fn enqueue_copy_image_to_buffer(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, from, to, offset) = (call.word(0), call.word(1), call.word(2), call.word(5));
        let context = self.queues.get(queue)?.context;
        self.image_for(context, from)?;
        self.buffer_for(context, to)?;
        let (origin, region) = (call.triple(3)?, call.triple(4)?);
        let ((source, image), target) = (self.image_for(context, from)?, self.buffer_for(context, to)?);
        image.check_region(origin, region)?;
        let (size, there) = (image.bytes(region), image.layout(origin));
        target.check_range(offset, size.iter().product())?;
        let rect = Rect {
            to: target.placement.device + Bytes(offset),
            from: source.placement.device + Bytes(there.offset),
            size,
            to_pitch: [size[0], size[0] * size[1]],
            from_pitch: there.pitch,
        };
        self.enqueue_image_copy(call, 6, cl::COMMAND_COPY_IMAGE_TO_BUFFER, rect, vec![from, to])
    }

    pub(super) fn enqueue_copy_buffer_to_image(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, from, to, offset) = (call.word(0), call.word(1), call.word(2), call.word(3));
        let context = self.queues.get(queue)?.context;
        self.buffer_for(context, from)?;
        self.image_for(context, to)?;
        let (origin, region) = (call.triple(4)?, call.triple(5)?);
        let (source, (target, image)) = (self.buffer_for(context, from)?, self.image_for(context, to)?);
        image.check_region(origin, region)?;
        let (size, here) = (image.bytes(region), image.layout(origin));
        source.check_range(offset, size.iter().product())?;
        let rect = Rect {
            to: target.placement.device + Bytes(here.offset),
            from: source.placement.device + Bytes(offset),
            size,
            to_pitch: here.pitch,
            from_pitch: [size[0], size[0] * size[1]],
        };
        self.enqueue_image_copy(call, 6, cl::COMMAND_COPY_BUFFER_TO_IMAGE, rect, vec![from, to])
    }

    fn enqueue_image_copy(
        &mut self,
        call: &mut Call,
        list: usize,
        kind: u64,
        rect: Rect,
        memories: Vec<u64>,
    ) -> Cl<Outcome> {
        let queue = call.word(0);
        let context = self.queues.get(queue)?.context;
        let waits = self.wait_list(call, list, context)?;
        let command = Command { kind, steps: vec![Step::Copy(rect)], memories, ..Command::default() };
        self.enqueue_and_answer(call, queue, &waits, command, list + 2, false)
    }

    pub(super) fn enqueue_map_image(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (queue, handle, blocking) = (call.word(0), call.word(1), call.flag(2));
        let context = self.queues.get(queue)?.context;
        self.image_for(context, handle)?;
        let access = map_access(call.word(3))?;
        let (origin, region) = (call.triple(4)?, call.triple(5)?);
        let (memory, image) = self.image_for(context, handle)?;
        ensure(call.word(6) != 0 && (call.word(7) != 0 || !image.has_slices()), cl::INVALID_VALUE)?;
        image.check_region(origin, region)?;
        check_map_access(memory, call.word(3))?;
        let waits = self.wait_list(call, 8, context)?;
        let size = image.bytes(region);
        let part = Part { size, device: image.layout(origin), host: image.host_layout(origin) };
        let (mapping, steps) = self.map(call, handle, part, access)?;
        let [row, slice] = image.told_pitch(mapping.rect.to_pitch);
        call.give_word(6, row)?;
        call.give_word(7, slice)?;
        let command = Command { kind: cl::COMMAND_MAP_IMAGE, steps, memories: vec![handle], ..Command::default() };
        let outcome = self.enqueue_and_answer(call, queue, &waits, command, 10, blocking)?;
        Ok(Outcome { word: mapping.pointer.0, ..outcome })
    }
}

/// Row pitch and slice pitch in the program's memory, as passed to a read or write; 0 means tightly packed.
fn host_pitch(image: &Image, region: [u64; 3], [row, slice]: [u64; 2]) -> Cl<[u64; 2]> {
    let line = region[0] * image.texel();
    ensure(row == 0 || row >= line, cl::INVALID_VALUE)?;
    let row = if row == 0 { line } else { row };
    ensure(slice == 0 || image.has_slices(), cl::INVALID_VALUE)?;
    let layers = image.kind == cl::MEM_OBJECT_IMAGE1D_ARRAY;
    let plane = if layers { row } else { row.checked_mul(region[1]).ok_or(cl::INVALID_VALUE)? };
    ensure(slice == 0 || slice >= plane, cl::INVALID_VALUE)?;
    let slice = if slice == 0 { plane } else { slice };
    Ok(if layers { [slice, slice] } else { [row, slice] })
}

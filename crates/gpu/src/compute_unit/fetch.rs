//! Instruction buffers: each wavefront buffers some code and prefetches the next line.

use super::{Ends, Unit, wave::Waits};
use engine::Lane;
use interconnect::HEADER;
use mem::{Access, Block, LINE, Mask, Reply, Request, RequestId, Scope, VirtAddr};

const LINE_BYTES: u64 = LINE as u64;
/// Number of slots that the number of a request can encode.
const SLOTS: u64 = 1 << 16;

impl Unit {
    /// Requests a code line for the next wavefront with space in its buffer. Returns whether it did.
    pub fn fetch(&mut self, ends: &Ends) -> bool {
        if !self.slots.has_buffers() {
            return false;
        }
        let first = self.fetch_turn + 1;
        let (mut from, mut wrapped) = (first, false);
        loop {
            let Some(slot) = self.slots.buffer(from).filter(|slot| !wrapped || *slot < first) else {
                if wrapped {
                    return false;
                }
                (from, wrapped) = (0, true);
                continue;
            };
            from = slot + 1;
            let Some(line) = self.wants_code(slot) else {
                self.slots.looked_at(slot);
                continue;
            };
            let (asid, phys) = self.locate(slot, line);
            let wave = self.waves[slot].as_mut().expect("it wants code");
            let request = Request {
                id: RequestId(wave.number * SLOTS + slot as u64),
                access: Access::Load,
                scope: Scope::Group,
                asid,
                virt: VirtAddr(line),
                phys,
                data: Block::of([0; LINE], Mask::first(LINE)),
                stamp: self.time,
                lanes: 1,
                tlb_missed: false,
            };
            if ends.code.1.try_send(Lane::Request, request, HEADER).is_err() {
                self.refused = true;
                return true;
            }
            self.sent = true;
            wave.fetching = Some(line);
            self.slots.looked_at(slot);
            self.fetch_turn = slot;
            return true;
        }
    }

    /// The code line that a wavefront should request, if any.
    fn wants_code(&mut self, slot: usize) -> Option<u64> {
        let wave = self.waves[slot].as_mut()?;
        if wave.fetching.is_some() {
            return None;
        }
        let pc = wave.wavefront.pc;
        let line = pc & !(LINE_BYTES - 1);
        if pc < wave.code.0 || pc >= wave.code.1 + LINE_BYTES {
            // The wavefront has jumped, so its buffered code is discarded.
            wave.code = (line, line);
        }
        wave.code.0 = wave.code.0.max(line.min(wave.code.1));
        let code = &self.groups[wave.group].as_ref()?.running.kernel().code;
        self.slots.has_code[slot] = wave.has_code(code);
        let full = wave.code.1 - wave.code.0 >= self.spec.instruction_buffer;
        (!full && wave.code.1 < code.end() && !wave.is_lost(code)).then_some(wave.code.1)
    }

    /// Handles the arrival of a code line.
    pub fn code_came(&mut self, reply: &Reply, now: u64) {
        let (number, slot) = (reply.id.0 / SLOTS, (reply.id.0 % SLOTS) as usize);
        // The wavefront that requested it may have ended, and another may have its slot.
        let Some(wave) = self.waves[slot].as_mut().filter(|wave| wave.number == number) else { return };
        // The line is used only if it is still the next one.
        if wave.fetching.take() == Some(wave.code.1) {
            wave.code.1 += LINE_BYTES;
        }
        let group = self.groups[wave.group].as_ref().expect("a wavefront belongs to a workgroup");
        self.slots.look_at(slot);
        self.slots.has_code[slot] = wave.has_code(&group.running.kernel().code);
        if wave.waits == Some(Waits::Code) && self.slots.has_code[slot] {
            wave.waits = None;
            wave.ready_at = wave.ready_at.max(now + 1);
            self.slots.note(slot, wave);
        }
    }
}

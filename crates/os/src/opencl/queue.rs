//! Command queues.

use crate::state::state;
use std::collections::BTreeSet;

use super::{
    call::{Call, DONE, Outcome, uint, word, words},
    cl,
    command::Command,
    driver::Driver,
    error::{Cl, ensure},
};

/// A queue of commands for a device.
#[derive(Debug)]
pub struct Queue {
    pub context: u64,
    pub device: u64,
    pub out_of_order: bool,
    pub profiling: bool,
    /// As passed by the program, for queries.
    pub properties: Option<Vec<u64>>,
    /// The events of incomplete commands, in order of arrival.
    pub outstanding: BTreeSet<u64>,
    /// The last barrier, if it is incomplete.
    pub barrier: Option<u64>,
    /// Whether a command has failed since the program last asked.
    pub failed: bool,
    /// Whether a command failed in such a way that later commands can't be trusted.
    pub broken: bool,
}

state!(struct Queue { context, device, out_of_order, profiling, properties, outstanding, barrier, failed, broken });

const KNOWN: u64 = cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl::QUEUE_PROFILING_ENABLE;

impl Driver {
    pub(super) fn create_command_queue(&mut self, call: &mut Call) -> Cl<Outcome> {
        let bits = call.word(2);
        self.make_queue(call, bits, None)
    }

    pub(super) fn create_command_queue_with_properties(&mut self, call: &mut Call) -> Cl<Outcome> {
        let properties = call.properties(2)?;
        let mut bits = 0;
        let mut list = Vec::new();
        for (name, value) in properties {
            match name {
                cl::QUEUE_PROPERTIES => bits = value,
                // On-device queues are not supported.
                cl::QUEUE_SIZE => return Err(cl::INVALID_QUEUE_PROPERTIES),
                _ => return Err(cl::INVALID_VALUE),
            }
            list.extend([name, value]);
        }
        if call.word(2) != 0 {
            list.push(0);
        }
        self.make_queue(call, bits, Some(list))
    }

    fn make_queue(&mut self, call: &mut Call, bits: u64, properties: Option<Vec<u64>>) -> Cl<Outcome> {
        let (context, device) = (call.word(0), call.word(1));
        let devices = &self.contexts.get(context)?.devices;
        ensure(devices.contains(&device), cl::INVALID_DEVICE)?;
        let device_side = cl::QUEUE_ON_DEVICE | cl::QUEUE_ON_DEVICE_DEFAULT;
        ensure(bits & !(KNOWN | device_side) == 0, cl::INVALID_VALUE)?;
        ensure(bits & device_side == 0, cl::INVALID_QUEUE_PROPERTIES)?;
        self.contexts.hold(context);
        Ok(Outcome::word(self.queues.insert(Queue {
            context,
            device,
            out_of_order: bits & cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0,
            profiling: bits & cl::QUEUE_PROFILING_ENABLE != 0,
            properties,
            outstanding: BTreeSet::new(),
            barrier: None,
            failed: false,
            broken: false,
        })))
    }

    /// Deprecated since OpenCL 1.0; an error if it would change what enqueued commands rely on.
    pub(super) fn set_command_queue_property(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (bits, enable) = (call.word(1), call.flag(2));
        let queue = self.queues.get_mut(call.word(0))?;
        ensure(bits & !KNOWN == 0, cl::INVALID_VALUE)?;
        let old = queue_bits(queue);
        if bits & cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0 {
            queue.out_of_order = enable;
        }
        if bits & cl::QUEUE_PROFILING_ENABLE != 0 {
            queue.profiling = enable;
        }
        call.give_word(3, old)?;
        DONE
    }

    pub(super) fn release_command_queue(&mut self, call: &mut Call) -> Cl<Outcome> {
        if let Some(queue) = self.queues.release(call.word(0))? {
            self.unhold_context(queue.context);
        }
        DONE
    }

    pub(super) fn unhold_queue(&mut self, handle: u64) {
        if let Some(queue) = self.queues.unhold(handle) {
            self.unhold_context(queue.context);
        }
    }

    pub(super) fn get_command_queue_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let queue = self.queues.get(handle)?;
        let value = match u64::from(call.uint(1)) {
            cl::QUEUE_CONTEXT => word(queue.context),
            cl::QUEUE_DEVICE => word(queue.device),
            cl::QUEUE_REFERENCE_COUNT => uint(self.queues.references(handle)?),
            cl::QUEUE_PROPERTIES => word(queue_bits(queue)),
            cl::QUEUE_PROPERTIES_ARRAY => words(queue.properties.as_deref().unwrap_or_default()),
            cl::QUEUE_DEVICE_DEFAULT => word(0),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &value)
    }

    /// Does nothing: commands start as soon as they can.
    pub(super) fn flush(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.queues.get(call.word(0))?;
        DONE
    }

    pub(super) fn finish(&mut self, call: &mut Call) -> Cl<Outcome> {
        let queue = self.queues.get_mut(call.word(0))?;
        let failed = std::mem::take(&mut queue.failed) && queue.broken;
        let outstanding: Vec<u64> = queue.outstanding.iter().copied().collect();
        ensure(!failed || !outstanding.is_empty(), cl::OUT_OF_RESOURCES)?;
        Ok(self.until(outstanding, Some(cl::OUT_OF_RESOURCES)))
    }

    pub(super) fn enqueue_marker(&mut self, call: &mut Call, barrier: bool) -> Cl<Outcome> {
        let queue = call.word(0);
        let context = self.queues.get(queue)?.context;
        let waits = self.wait_list(call, 1, context)?;
        let kind = if barrier { cl::COMMAND_BARRIER } else { cl::COMMAND_MARKER };
        // Without a wait list it waits for all earlier commands.
        let command = Command { kind, fence: waits.is_empty(), barrier, ..Command::default() };
        let event = self.enqueue(queue, &waits, command, call.now)?;
        self.give_event(call, 3, event)?;
        DONE
    }

    /// The functions of OpenCL 1.0: a marker, a barrier, and a barrier that waits for events.
    pub(super) fn enqueue_old_marker(&mut self, call: &mut Call) -> Cl<Outcome> {
        ensure(call.word(1) != 0, cl::INVALID_VALUE)?;
        let command = Command { kind: cl::COMMAND_MARKER, fence: true, ..Command::default() };
        let event = self.enqueue(call.word(0), &[], command, call.now)?;
        self.give_event(call, 1, event)?;
        DONE
    }

    pub(super) fn enqueue_old_barrier(&mut self, call: &mut Call) -> Cl<Outcome> {
        let command = Command { kind: cl::COMMAND_BARRIER, fence: true, barrier: true, ..Command::default() };
        self.enqueue_unseen(call, &[], command)
    }

    pub(super) fn enqueue_wait_for_events(&mut self, call: &mut Call) -> Cl<Outcome> {
        let context = self.queues.get(call.word(0))?.context;
        ensure(call.uint(1) > 0 && call.word(2) != 0, cl::INVALID_VALUE)?;
        let list = call.list(1, 2, cl::INVALID_VALUE)?;
        for event in &list {
            ensure(self.events.get(*event)?.context == context, cl::INVALID_CONTEXT)?;
        }
        let command = Command { kind: cl::COMMAND_BARRIER, barrier: true, ..Command::default() };
        self.enqueue_unseen(call, &list, command)
    }

    fn enqueue_unseen(&mut self, call: &mut Call, waits: &[u64], command: Command) -> Cl<Outcome> {
        let event = self.enqueue(call.word(0), waits, command, call.now)?;
        if let Some(event) = self.events.release(event)? {
            self.drop_event(event);
        }
        DONE
    }
}

fn queue_bits(queue: &Queue) -> u64 {
    let order = if queue.out_of_order { cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE } else { 0 };
    let profiling = if queue.profiling { cl::QUEUE_PROFILING_ENABLE } else { 0 };
    order | profiling
}

//! Events: the progress of commands, and user events.

use crate::state::state;
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
};

use engine::Time;
use mem::VirtAddr;

use super::{
    abi::Action,
    call::{Call, DONE, Outcome, uint, word},
    cl,
    command::Step,
    driver::Driver,
    error::{Cl, Code, ensure},
};

/// A function of the program to be called when an event reaches a status.
#[derive(Clone, Copy, Debug)]
pub struct Callback {
    /// The status it waits for.
    pub when: u32,
    pub function: VirtAddr,
    pub data: u64,
}

state!(struct Callback { when, function, data });

/// An event, with the command whose progress it tracks.
#[derive(Debug)]
pub struct Event {
    pub context: u64,
    /// None for a user event.
    pub queue: Option<u64>,
    pub kind: u64,
    /// From QUEUED (3) down to COMPLETE (0), or an error below that.
    pub status: i32,
    pub steps: VecDeque<Step>,
    /// Events that it waits for, and whether each comes from its wait list.
    pub waits: BTreeMap<u64, bool>,
    /// An event in its wait list has failed.
    pub doomed: bool,
    pub dependents: Vec<u64>,
    /// When it was queued, submitted, started and ended.
    pub times: [Time; 4],
    pub callbacks: Vec<Callback>,
    pub memories: Vec<u64>,
    pub program: Option<u64>,
    pub samplers: Vec<u64>,
}

impl Event {
    /// Work outside all queues.
    pub fn detached(context: u64, steps: VecDeque<Step>, now: Time) -> Self {
        Self {
            context,
            queue: None,
            kind: 0,
            status: cl::SUBMITTED as i32,
            steps,
            waits: BTreeMap::new(),
            doomed: false,
            dependents: Vec::new(),
            times: [now; 4],
            callbacks: Vec::new(),
            memories: Vec::new(),
            program: None,
            samplers: Vec::new(),
        }
    }

    /// Corrects the start time: the work did not begin when it was handed over, but at `start`.
    pub fn started(&mut self, start: Time) {
        self.times[2] = self.times[2].max(start);
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            cl::COMMAND_NDRANGE_KERNEL | cl::COMMAND_TASK => "a kernel",
            cl::COMMAND_READ_BUFFER | cl::COMMAND_READ_BUFFER_RECT => "a read of a buffer",
            cl::COMMAND_WRITE_BUFFER | cl::COMMAND_WRITE_BUFFER_RECT => "a write to a buffer",
            cl::COMMAND_COPY_BUFFER | cl::COMMAND_COPY_BUFFER_RECT => "a copy between buffers",
            cl::COMMAND_FILL_BUFFER => "a fill of a buffer",
            cl::COMMAND_MAP_BUFFER | cl::COMMAND_MAP_IMAGE => "a map",
            cl::COMMAND_UNMAP_MEM_OBJECT => "an unmap",
            cl::COMMAND_READ_IMAGE | cl::COMMAND_WRITE_IMAGE | cl::COMMAND_COPY_IMAGE | cl::COMMAND_FILL_IMAGE => {
                "an access to an image"
            }
            cl::COMMAND_MARKER => "a marker",
            cl::COMMAND_BARRIER => "a barrier",
            cl::COMMAND_USER => "a user event",
            _ => "a command",
        })
    }
}

impl Driver {
    pub(super) fn create_user_event(&mut self, call: &mut Call) -> Cl<Outcome> {
        let context = call.word(0);
        self.contexts.get(context)?;
        self.contexts.hold(context);
        Ok(Outcome::word(self.events.insert(Event {
            context,
            queue: None,
            kind: cl::COMMAND_USER,
            status: cl::SUBMITTED as i32,
            steps: VecDeque::new(),
            waits: BTreeMap::new(),
            doomed: false,
            dependents: Vec::new(),
            times: [call.now; 4],
            callbacks: Vec::new(),
            memories: Vec::new(),
            program: None,
            samplers: Vec::new(),
        })))
    }

    pub(super) fn set_user_event_status(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (handle, status) = (call.word(0), call.int(1));
        let event = self.events.get(handle)?;
        ensure(event.kind == cl::COMMAND_USER, cl::INVALID_EVENT)?;
        ensure(status <= 0, cl::INVALID_VALUE)?;
        ensure(event.status > 0, cl::INVALID_OPERATION)?;
        self.complete(handle, status, call.now);
        DONE
    }

    pub(super) fn release_event(&mut self, call: &mut Call) -> Cl<Outcome> {
        if let Some(event) = self.events.release(call.word(0))? {
            self.drop_event(event);
        }
        DONE
    }

    /// Called when an event is freed; releases the objects it held.
    pub(super) fn drop_event(&mut self, event: Event) {
        if let Some(queue) = event.queue {
            self.unhold_queue(queue);
        }
        self.unhold_context(event.context);
    }

    /// Passes a command's event to the program, or releases it if the program did not request it.
    pub(super) fn give_event(&mut self, call: &mut Call, n: usize, event: u64) -> Cl<()> {
        if call.word(n) != 0 {
            return call.give_word(n, event);
        }
        if let Some(event) = self.events.release(event)? {
            self.drop_event(event);
        }
        Ok(())
    }

    /// An outcome that returns when these events are complete.
    pub(super) fn until(&mut self, events: Vec<u64>, failed: Option<Code>) -> Outcome {
        for event in &events {
            self.events.hold(*event);
        }
        Outcome { until: events, failed, ..Outcome::default() }
    }

    pub(super) fn wait_for_events(&mut self, call: &mut Call) -> Cl<Outcome> {
        ensure(call.uint(0) > 0 && call.word(1) != 0, cl::INVALID_VALUE)?;
        let list = call.list(0, 1, cl::INVALID_VALUE)?;
        let mut context = None;
        for event in &list {
            let event = self.events.get(*event)?;
            ensure(*context.get_or_insert(event.context) == event.context, cl::INVALID_CONTEXT)?;
        }
        Ok(self.until(list, Some(cl::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)))
    }

    pub(super) fn set_event_callback(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (handle, when) = (call.word(0), call.int(1));
        let callback = Callback { when: when as u32, function: call.pointer(2), data: call.word(3) };
        let event = self.events.get_mut(handle)?;
        let known = [cl::COMPLETE, cl::RUNNING, cl::SUBMITTED].contains(&(when as u64));
        ensure(callback.function.0 != 0 && known, cl::INVALID_VALUE)?;
        let status = event.status;
        if status <= when {
            self.call_back(handle, callback, status);
            return DONE;
        }
        event.callbacks.push(callback);
        let serve = !std::mem::replace(&mut self.serving, true);
        Ok(Outcome { actions: serve.then_some(Action::Serve).into_iter().collect(), ..Outcome::default() })
    }

    pub(super) fn get_event_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let event = self.events.get(handle)?;
        let value = match u64::from(call.uint(1)) {
            cl::EVENT_COMMAND_QUEUE => word(event.queue.unwrap_or(0)),
            cl::EVENT_CONTEXT => word(event.context),
            cl::EVENT_COMMAND_TYPE => uint(event.kind as u32),
            cl::EVENT_COMMAND_EXECUTION_STATUS => uint(event.status as u32),
            cl::EVENT_REFERENCE_COUNT => uint(self.events.references(handle)?),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &value)
    }

    pub(super) fn get_event_profiling_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let event = self.events.get(call.word(0))?;
        let profiling = event.queue.is_some_and(|queue| self.queues.held(queue).is_ok_and(|queue| queue.profiling));
        ensure(profiling && event.status == cl::COMPLETE as i32, cl::PROFILING_INFO_NOT_AVAILABLE)?;
        let which = match u64::from(call.uint(1)) {
            cl::PROFILING_COMMAND_QUEUED => 0,
            cl::PROFILING_COMMAND_SUBMIT => 1,
            cl::PROFILING_COMMAND_START => 2,
            cl::PROFILING_COMMAND_END | cl::PROFILING_COMMAND_COMPLETE => 3,
            _ => return Err(cl::INVALID_VALUE),
        };
        let nanoseconds = event.times[which].0 / Time::nanos(1).0;
        call.info(2, &word(nanoseconds))
    }
}

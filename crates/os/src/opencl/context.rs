//! Contexts.

use crate::state::state;
use mem::VirtAddr;

use super::{
    abi::Action,
    call::{Call, DONE, Outcome, uint, words},
    cl,
    command::Work,
    device::PLATFORM,
    driver::Driver,
    error::{Cl, ensure},
};

/// A context: devices, and the objects created for them.
#[derive(Debug)]
pub struct Context {
    pub devices: Vec<u64>,
    /// As the program passed them, with the terminating zero.
    properties: Vec<u64>,
    /// Destructor callbacks, called in reverse order.
    destructors: Vec<(VirtAddr, u64)>,
}

state!(struct Context { devices, properties, destructors });

impl Driver {
    pub(super) fn create_context(&mut self, call: &mut Call) -> Cl<Outcome> {
        let properties = context_properties(call)?;
        ensure(call.uint(1) > 0 && call.word(2) != 0, cl::INVALID_VALUE)?;
        ensure(call.word(3) != 0 || call.word(4) == 0, cl::INVALID_VALUE)?;
        let mut devices = call.list(1, 2, cl::INVALID_VALUE)?;
        for device in &devices {
            self.device(*device)?;
        }
        let mut seen = Vec::new();
        devices.retain(|device| {
            !seen.contains(device) && {
                seen.push(*device);
                true
            }
        });
        Ok(self.make_context(devices, properties))
    }

    pub(super) fn create_context_from_type(&mut self, call: &mut Call) -> Cl<Outcome> {
        let properties = context_properties(call)?;
        ensure(call.word(2) != 0 || call.word(3) == 0, cl::INVALID_VALUE)?;
        let devices = self.devices_of_type(call.word(1))?;
        Ok(self.make_context(devices, properties))
    }

    fn make_context(&mut self, devices: Vec<u64>, properties: Vec<u64>) -> Outcome {
        Outcome::word(self.contexts.insert(Context { devices, properties, destructors: Vec::new() }))
    }

    pub(super) fn release_context(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        if let Some(context) = self.contexts.release(handle)? {
            self.drop_context(handle, context);
        }
        DONE
    }

    pub(super) fn unhold_context(&mut self, handle: u64) {
        if let Some(context) = self.contexts.unhold(handle) {
            self.drop_context(handle, context);
        }
    }

    fn drop_context(&mut self, handle: u64, context: Context) {
        for (function, data) in context.destructors.into_iter().rev() {
            let action = Action::Call { function, arguments: [handle, data, 0, 0] };
            self.work.push_back(Work { action, event: None, held: None });
        }
    }

    pub(super) fn set_context_destructor_callback(&mut self, call: &mut Call) -> Cl<Outcome> {
        let destructor = (call.pointer(1), call.word(2));
        let context = self.contexts.get_mut(call.word(0))?;
        ensure(destructor.0.0 != 0, cl::INVALID_VALUE)?;
        context.destructors.push(destructor);
        DONE
    }

    pub(super) fn get_context_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let context = self.contexts.get(handle)?;
        let value = match u64::from(call.uint(1)) {
            cl::CONTEXT_REFERENCE_COUNT => uint(self.contexts.references(handle)?),
            cl::CONTEXT_NUM_DEVICES => uint(context.devices.len() as u32),
            cl::CONTEXT_DEVICES => words(&context.devices),
            cl::CONTEXT_PROPERTIES => words(&context.properties),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &value)
    }
}

/// Checks the properties of a context: CL_CONTEXT_PLATFORM, and CL_CONTEXT_INTEROP_USER_SYNC, which has no effect.
fn context_properties(call: &mut Call) -> Cl<Vec<u64>> {
    let mut list = Vec::new();
    for (name, value) in call.properties(0)? {
        match name {
            cl::CONTEXT_PLATFORM => ensure(value == PLATFORM, cl::INVALID_PLATFORM)?,
            cl::CONTEXT_INTEROP_USER_SYNC => {}
            _ => return Err(cl::INVALID_PROPERTY),
        }
        ensure(!list.chunks(2).any(|pair: &[u64]| pair[0] == name), cl::INVALID_PROPERTY)?;
        list.extend([name, value]);
    }
    if call.word(0) != 0 {
        list.push(0);
    }
    Ok(list)
}

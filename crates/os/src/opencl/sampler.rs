//! Samplers: how kernels read images between and outside their texels.

use crate::state::state;
use mem::VirtAddr;

use super::{
    call::{Call, DONE, Outcome, flag, uint, word, words},
    cl,
    driver::Driver,
    error::{Cl, ensure},
};

#[derive(Debug)]
pub struct Sampler {
    pub context: u64,
    normalised: bool,
    addressing: u64,
    filter: u64,
    properties: Vec<u64>,
    /// The address of its descriptor.
    pub description: VirtAddr,
}

state!(struct Sampler { context, normalised, addressing, filter, properties, description });

impl Driver {
    pub(super) fn create_sampler(&mut self, call: &mut Call) -> Cl<Outcome> {
        let settings = (call.flag(1), call.uint(2).into(), call.uint(3).into());
        self.make_sampler(call, settings, Vec::new())
    }

    pub(super) fn create_sampler_with_properties(&mut self, call: &mut Call) -> Cl<Outcome> {
        let mut settings = (true, cl::ADDRESS_CLAMP, cl::FILTER_NEAREST);
        let mut list = Vec::new();
        for (name, value) in call.properties(1)? {
            match name {
                cl::SAMPLER_NORMALIZED_COORDS => settings.0 = value != 0,
                cl::SAMPLER_ADDRESSING_MODE => settings.1 = value,
                cl::SAMPLER_FILTER_MODE => settings.2 = value,
                _ => return Err(cl::INVALID_VALUE),
            }
            list.extend([name, value]);
        }
        if call.word(1) != 0 {
            list.push(0);
        }
        self.make_sampler(call, settings, list)
    }

    fn make_sampler(
        &mut self,
        call: &mut Call,
        (normalised, addressing, filter): (bool, u64, u64),
        properties: Vec<u64>,
    ) -> Cl<Outcome> {
        let context = call.word(0);
        self.contexts.get(context)?;
        // Coordinates outside the image: repeat, mirror, clamp to the edge, or a border of zeros.
        let clamp = match addressing {
            cl::ADDRESS_REPEAT => 0,
            cl::ADDRESS_MIRRORED_REPEAT => 1,
            cl::ADDRESS_CLAMP_TO_EDGE | cl::ADDRESS_NONE => 2,
            cl::ADDRESS_CLAMP => 6,
            _ => return Err(cl::INVALID_VALUE),
        };
        let linear = match filter {
            cl::FILTER_NEAREST => 0,
            cl::FILTER_LINEAR => 1,
            _ => return Err(cl::INVALID_VALUE),
        };
        ensure(normalised || clamp > 1, cl::INVALID_VALUE)?;
        let description = [
            clamp | clamp << 3 | clamp << 6 | u32::from(!normalised) << 15,
            0x00ff_f000,
            linear << 20 | linear << 22,
            0,
        ];
        let description = self.slots.put(call.guest, &description)?;
        self.contexts.hold(context);
        let sampler = Sampler { context, normalised, addressing, filter, properties, description };
        Ok(Outcome::word(self.samplers.insert(sampler)))
    }

    pub(super) fn release_sampler(&mut self, call: &mut Call) -> Cl<Outcome> {
        if let Some(sampler) = self.samplers.release(call.word(0))? {
            self.drop_sampler(sampler);
        }
        DONE
    }

    pub(super) fn unhold_sampler(&mut self, handle: u64) {
        if let Some(sampler) = self.samplers.unhold(handle) {
            self.drop_sampler(sampler);
        }
    }

    fn drop_sampler(&mut self, sampler: Sampler) {
        self.slots.take(sampler.description);
        self.unhold_context(sampler.context);
    }

    pub(super) fn get_sampler_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let sampler = self.samplers.get(handle)?;
        let value = match u64::from(call.uint(1)) {
            cl::SAMPLER_REFERENCE_COUNT => uint(self.samplers.references(handle)?),
            cl::SAMPLER_CONTEXT => word(sampler.context),
            cl::SAMPLER_NORMALIZED_COORDS => flag(sampler.normalised),
            cl::SAMPLER_ADDRESSING_MODE => uint(sampler.addressing as u32),
            cl::SAMPLER_FILTER_MODE => uint(sampler.filter as u32),
            cl::SAMPLER_PROPERTIES => words(&sampler.properties),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &value)
    }
}

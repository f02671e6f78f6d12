//! The resources of a compute unit, as the dispatcher tracks them.
//!
//! A workgroup starts on a compute unit that has enough free wavefront slots, registers and local memory. The
//! dispatcher decides from its own records: compute units lie behind a wire and only report that a workgroup has ended.

use crate::{compute_unit::ComputeUnitSpec, kernel::Kernel};

/// The resources of one workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub waves: usize,
    /// Per wavefront.
    vgprs: usize,
    sgprs: usize,
    lds: u64,
}

impl Needs {
    pub fn of(kernel: &Kernel, id: [u32; 3]) -> Self {
        let declared = kernel.dispatch.kernel();
        // Registers are allocated in blocks of 4 vector and 16 scalar ones (GCN3 ISA manual, 3.6).
        Self {
            waves: kernel.dispatch.waves(id) as usize,
            vgprs: (declared.vgprs as usize).next_multiple_of(4).max(4),
            sgprs: (declared.sgprs as usize).next_multiple_of(16).max(16),
            lds: u64::from(kernel.dispatch.lds_size()),
        }
    }
}

/// The allocated resources of a compute unit.
pub struct Books {
    spec: ComputeUnitSpec,
    waves: Vec<usize>,
    vgprs: Vec<usize>,
    sgprs: usize,
    lds: u64,
}

/// The SIMD of each wavefront of a workgroup.
pub type Simds = Vec<u8>;

impl Books {
    pub fn new(spec: ComputeUnitSpec) -> Self {
        Self { spec, waves: vec![0; spec.simds], vgprs: vec![0; spec.simds], sgprs: 0, lds: 0 }
    }

    /// Whether a workgroup fits into an empty compute unit.
    pub fn could_ever(&self, needs: &Needs) -> bool {
        Self::new(self.spec).place(needs).is_some()
    }

    /// Allocates resources for a workgroup, if there is space.
    pub fn take(&mut self, needs: &Needs) -> Option<Simds> {
        let simds = self.place(needs)?;
        for simd in &simds {
            self.waves[usize::from(*simd)] += 1;
            self.vgprs[usize::from(*simd)] += needs.vgprs;
        }
        self.sgprs += needs.waves * needs.sgprs;
        self.lds += needs.lds;
        Some(simds)
    }

    /// Frees the resources of a workgroup that has ended.
    pub fn give_back(&mut self, needs: &Needs, simds: &Simds) {
        for simd in simds {
            self.waves[usize::from(*simd)] -= 1;
            self.vgprs[usize::from(*simd)] -= needs.vgprs;
        }
        self.sgprs -= needs.waves * needs.sgprs;
        self.lds -= needs.lds;
    }

    /// Chooses a SIMD for each wavefront, in turn from the one with the fewest wavefronts.
    fn place(&self, needs: &Needs) -> Option<Simds> {
        let spec = &self.spec;
        if self.lds + needs.lds > spec.lds || self.sgprs + needs.waves * needs.sgprs > spec.sgprs {
            return None;
        }
        let mut taken = vec![0; spec.simds];
        let room = |simd: usize, taken: usize| {
            self.waves[simd] + taken < spec.waves_per_simd && self.vgprs[simd] + (taken + 1) * needs.vgprs <= spec.vgprs
        };
        let mut next = (0..spec.simds).min_by_key(|simd| (self.waves[*simd], *simd))?;
        let mut simds = Simds::with_capacity(needs.waves);
        for _ in 0..needs.waves {
            let simd = (0..spec.simds).map(|n| (next + n) % spec.simds).find(|simd| room(*simd, taken[*simd]))?;
            taken[simd] += 1;
            simds.push(simd as u8);
            next = simd + 1;
        }
        Some(simds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Cycles;

    fn spec() -> ComputeUnitSpec {
        let one = Cycles(1);
        ComputeUnitSpec {
            simds: 4,
            waves_per_simd: 10,
            vgprs: 256,
            sgprs: 800,
            lds: 64 << 10,
            decode: one,
            vector: [one; 4],
            scalar: one,
            branch: one,
            local: one,
            local_banks: 32,
            local_interval: one,
            local_word: one,
            refetch: false,
            coalesce: one,
            coalescer: crate::Coalescer::Unit,
            line_slots: 64,
            instruction_buffer: 256,
            limit: None,
        }
    }

    #[test]
    fn wavefronts_are_dealt_over_the_simds() {
        let mut books = Books::new(spec());
        let needs = Needs { waves: 2, vgprs: 4, sgprs: 16, lds: 0 };
        assert_eq!(books.take(&needs), Some(vec![0, 1]));
        assert_eq!(books.take(&needs), Some(vec![2, 3]));
        assert_eq!(books.take(&needs), Some(vec![0, 1]));
    }

    #[test]
    fn registers_local_memory_and_slots_limit_what_starts() {
        let full = |needs: Needs| {
            let mut books = Books::new(spec());
            std::iter::from_fn(|| books.take(&needs)).count()
        };
        assert_eq!(full(Needs { waves: 1, vgprs: 4, sgprs: 16, lds: 0 }), 40);
        assert_eq!(full(Needs { waves: 1, vgprs: 128, sgprs: 16, lds: 0 }), 8);
        assert_eq!(full(Needs { waves: 1, vgprs: 4, sgprs: 112, lds: 0 }), 7);
        assert_eq!(full(Needs { waves: 1, vgprs: 4, sgprs: 16, lds: 32 << 10 }), 2);
        assert!(!Books::new(spec()).could_ever(&Needs { waves: 41, vgprs: 4, sgprs: 16, lds: 0 }));
    }

    #[test]
    fn what_has_ended_makes_room() {
        let mut books = Books::new(spec());
        let needs = Needs { waves: 40, vgprs: 4, sgprs: 16, lds: 64 << 10 };
        let simds = books.take(&needs).unwrap();
        assert_eq!(books.take(&needs), None);
        books.give_back(&needs, &simds);
        assert!(books.take(&needs).is_some());
    }
}

//! The CPUs on which a thread may run (`sched_setaffinity`).

use crate::state::{Read, Reader, State};

/// A set of CPUs by number; by default all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet(Option<Box<[u64]>>);

impl State for CpuSet {
    fn save(&self, to: &mut Vec<u8>) {
        self.0.as_ref().map(|words| words.to_vec()).save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        Ok(Self(Option::<Vec<u64>>::load(from)?.map(Into::into)))
    }
}

impl CpuSet {
    /// The set of a mask of bytes, the lowest bit first; `None` if no CPU below `cpus` is in it.
    pub fn of_bytes(bytes: &[u8], cpus: u32) -> Option<Self> {
        let mut words = vec![0u64; cpus.div_ceil(64).max(1) as usize];
        for cpu in 0..cpus {
            if bytes.get(cpu as usize / 8).is_some_and(|byte| byte >> (cpu % 8) & 1 != 0) {
                words[cpu as usize / 64] |= 1 << (cpu % 64);
            }
        }
        words.iter().any(|word| *word != 0).then(|| Self(Some(words.into())))
    }

    pub fn has(&self, cpu: u32) -> bool {
        self.0.as_ref().is_none_or(|words| words.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 != 0))
    }

    /// The first CPU of the set that is assigned to this one of `agents` hardware threads: CPU n is hardware thread n
    /// modulo their number, as a program may see more CPUs than there are hardware threads.
    pub fn first_of(&self, agent: usize, agents: usize, cpus: u32) -> Option<u32> {
        (agent as u32 % agents.max(1) as u32..cpus).step_by(agents.max(1)).find(|cpu| self.has(*cpu))
    }

    /// Whether no CPU was chosen.
    pub fn is_any(&self) -> bool {
        self.0.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_without_a_cpu_that_exists_is_no_set() {
        assert_eq!(CpuSet::of_bytes(&[0xf0], 4), None);
        assert_eq!(CpuSet::of_bytes(&[], 4), None);
        let some = CpuSet::of_bytes(&[0xf4], 4).unwrap();
        assert_eq!([0, 1, 2, 3].map(|cpu| some.has(cpu)), [false, false, true, false]);
        assert!(CpuSet::default().has(1000));
    }

    #[test]
    fn a_hardware_thread_stands_for_every_cpu_that_is_its_number_modulo_their_count() {
        let sixth = CpuSet::of_bytes(&[0x40], 8).unwrap();
        assert_eq!([0, 1, 2, 3].map(|agent| sixth.first_of(agent, 4, 8)), [None, None, Some(6), None]);
        assert_eq!(CpuSet::default().first_of(3, 4, 8), Some(3));
    }
}

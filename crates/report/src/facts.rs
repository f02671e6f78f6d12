//! Facts about the machine that a summary needs: capacities to compare statistics with.

use engine::Hertz;
use machine::Machine;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) clock: Hertz,
    /// The CPU's clock; without a CPU, the GPU's.
    pub(crate) cpu_clock: Hertz,
    /// The network's clock; without a CPU, the GPU's.
    pub(crate) network_clock: Hertz,
    /// Wavefronts that a compute unit can hold.
    pub(crate) wave_slots: u64,
    /// Peak bandwidth of all channels together, in bytes per second.
    pub(crate) memory_peak: f64,
}

impl Facts {
    pub(crate) fn of(machine: &Machine) -> Self {
        let clock = machine.clock;
        let cpu_clock = machine.cpu.as_ref().map_or(clock, |complex| complex.clock);
        let network_clock = machine.cpu.as_ref().map_or(clock, |complex| complex.system_clock);
        Self {
            clock,
            cpu_clock,
            network_clock,
            wave_slots: machine.compute_unit.wavefronts() as u64,
            memory_peak: machine.memory_peak(),
        }
    }

    pub(crate) fn to_cycles(self, femtoseconds: u64) -> u64 {
        cycles_of(self.clock, femtoseconds)
    }

    pub(crate) fn to_femtoseconds(self, cycles: u64) -> u64 {
        (u128::from(cycles) * FEMTOSECONDS / u128::from(self.clock.0)) as u64
    }
}

/// Number of clock cycles that begin within a time.
pub(crate) fn cycles_of(clock: Hertz, femtoseconds: u64) -> u64 {
    (u128::from(femtoseconds) * u128::from(clock.0)).div_ceil(FEMTOSECONDS) as u64
}

const FEMTOSECONDS: u128 = 1_000_000_000_000_000;

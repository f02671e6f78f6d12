//! Atomics on memory.

use super::support::{Bench, inst, v};
use gcn3::{
    error::Fault,
    exec::Step,
    functional::MappedMemory,
    inst::{Extra, Flags, Inst, MemoryFields as Fields, Operand},
    ops::Op,
};
use mem::{Bytes, VirtAddr};

const BASE: u64 = 0x10_0000;

fn returning(mut inst: Inst) -> Inst {
    inst.extra = Extra::Memory(Fields { flags: Flags::GLC, ..Fields::default() });
    inst
}

fn memory(start: u64) -> MappedMemory {
    let mut memory = MappedMemory::default();
    memory.map(VirtAddr(BASE), Bytes(4096), true).unwrap();
    memory.write(VirtAddr(BASE), &start.to_le_bytes()).unwrap();
    memory
}

fn long(memory: &MappedMemory) -> u64 {
    let mut bytes = [0; 8];
    memory.read(VirtAddr(BASE), &mut bytes).unwrap();
    u64::from_le_bytes(bytes)
}

fn perform(bench: &mut Bench, memory: &MappedMemory, inst: &Inst) -> Result<(), Fault> {
    let Step::Mem(mut op) = bench.try_run(inst)? else { panic!("no access") };
    memory.perform(&mut op, false)?;
    bench.wave.complete(&op)
}

/// Two lanes apply an atomic with data 5: the final memory contents, and the value that the second lane got.
fn twice(op: Op, start: u64) -> (u64, u64) {
    let (memory, mut bench) = (memory(start), Bench::new());
    let wide = op.mnemonic().ends_with("_x2");
    bench.wave.set_exec(0b11);
    bench.set64(2, |_| BASE);
    bench.set64(4, |_| 5);
    perform(&mut bench, &memory, &returning(inst(op, v(8), &[v(2), v(4)]))).unwrap();
    let returned = if wide { bench.get64(8, 1) } else { bench.get(8, 1).into() };
    assert_eq!(bench.get(8, 2), 0, "a lane that is off gets nothing");
    (long(&memory), returned)
}

#[test]
#[rustfmt::skip]
fn every_operation_in_both_widths() {
    let all_but_low = 0xffff_ffff_ffff_ff00;
    let rows: &[(Op, u64, (u64, u64))] = &[
        (Op::FlatAtomicSwap,   7,  (5, 5)),           (Op::FlatAtomicSwapX2, 7, (5, 5)),
        (Op::FlatAtomicAdd,    7,  (17, 12)),         (Op::FlatAtomicAddX2, u64::MAX, (9, 4)),
        (Op::FlatAtomicSub,    7,  (0xffff_fffd, 2)), (Op::FlatAtomicSubX2, 7, (u64::MAX - 2, 2)),
        (Op::FlatAtomicSmin,   0xffff_ffff, (0xffff_ffff, 0xffff_ffff)), (Op::FlatAtomicSminX2, 9, (5, 5)),
        (Op::FlatAtomicUmin,   0xffff_ffff, (5, 5)),  (Op::FlatAtomicUminX2, u64::MAX, (5, 5)),
        (Op::FlatAtomicSmax,   0xffff_ffff, (5, 5)),  (Op::FlatAtomicSmaxX2, u64::MAX, (5, 5)),
        (Op::FlatAtomicUmax,   9,  (9, 9)),           (Op::FlatAtomicUmaxX2, u64::MAX, (u64::MAX, u64::MAX)),
        (Op::FlatAtomicAnd,    0xff, (5, 5)),         (Op::FlatAtomicAndX2, all_but_low | 0xf, (5, 5)),
        (Op::FlatAtomicOr,     0xf0, (0xf5, 0xf5)),   (Op::FlatAtomicOrX2, all_but_low, (all_but_low | 5, all_but_low | 5)),
        (Op::FlatAtomicXor,    1,  (1, 4)),           (Op::FlatAtomicXorX2, 1, (1, 4)),
        (Op::FlatAtomicInc,    4,  (0, 5)),           (Op::FlatAtomicIncX2, 4, (0, 5)),
        (Op::FlatAtomicDec,    1,  (5, 0)),           (Op::FlatAtomicDecX2, 9, (4, 5)),
    ];
    for (op, start, result) in rows {
        assert_eq!(twice(*op, *start), *result, "{} from {start:#x}", op.mnemonic());
    }
}

#[test]
fn compare_and_swap_takes_the_new_value_first() {
    let (memory, mut bench) = (memory(7), Bench::new());
    bench.wave.set_exec(0b11);
    bench.set64(2, |_| BASE);
    bench.set(4, |lane| 100 + lane as u32);
    bench.set(5, |_| 7);
    perform(&mut bench, &memory, &returning(inst(Op::FlatAtomicCmpswap, v(8), &[v(2), v(4)]))).unwrap();
    assert_eq!((long(&memory), bench.get(8, 0), bench.get(8, 1)), (100, 7, 100));
    bench.set64(4, |lane| 1 << 40 | lane as u64);
    bench.set64(6, |_| 100);
    perform(&mut bench, &memory, &returning(inst(Op::FlatAtomicCmpswapX2, v(8), &[v(2), v(4)]))).unwrap();
    assert_eq!((long(&memory), bench.get64(8, 1)), (1 << 40, 1 << 40));
}

#[test]
fn without_return_no_register_is_written() {
    let (memory, mut bench) = (memory(0), Bench::new());
    bench.set64(2, |_| BASE);
    bench.set(4, |_| 1);
    bench.set(8, |_| 42);
    perform(&mut bench, &memory, &inst(Op::FlatAtomicAdd, Operand::NONE, &[v(2), v(4)])).unwrap();
    assert_eq!((long(&memory), bench.get(8, 0)), (64, 42));
}

#[test]
fn an_unaligned_atomic_is_a_fault() {
    let (memory, mut bench) = (memory(0), Bench::new());
    bench.set64(2, |lane| BASE + 4 * lane as u64);
    bench.set64(4, |_| 1);
    perform(&mut bench, &memory, &inst(Op::FlatAtomicAdd, Operand::NONE, &[v(2), v(4)])).unwrap();
    let fault = perform(&mut bench, &memory, &inst(Op::FlatAtomicAddX2, Operand::NONE, &[v(2), v(4)])).unwrap_err();
    assert!(matches!(fault, Fault::Unaligned { lane: Some(1), bytes: 8, .. }), "{fault}");
    bench.set64(2, |_| BASE + 2);
    let fault = perform(&mut bench, &memory, &inst(Op::FlatAtomicAdd, Operand::NONE, &[v(2), v(4)])).unwrap_err();
    assert!(matches!(fault, Fault::Unaligned { bytes: 4, .. }), "{fault}");
}

#[test]
fn atomics_of_several_threads_lose_nothing() {
    let memory = memory(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut bench = Bench::new();
                bench.set64(2, |lane| BASE + 8 * (lane as u64 % 4));
                bench.set64(4, |_| 1 << 31);
                bench.set64(6, |lane| BASE + 64 + 4 * (lane as u64 % 4));
                for _ in 0..200 {
                    perform(&mut bench, &memory, &inst(Op::FlatAtomicAddX2, Operand::NONE, &[v(2), v(4)])).unwrap();
                    perform(&mut bench, &memory, &inst(Op::FlatAtomicAdd, Operand::NONE, &[v(6), v(8)])).unwrap();
                    bench.set(8, |_| 1);
                }
            });
        }
    });
    assert_eq!(long(&memory), (4 * 200 * 16) << 31);
    let mut count = [0; 4];
    memory.read(VirtAddr(BASE + 64), &mut count).unwrap();
    assert_eq!(u32::from_le_bytes(count), 4 * 199 * 16);
}

//! The memory that agents see while stores are pending.

use mem::{Block, Bytes, LINE, LineAddr, Mask, PhysAddr, VirtAddr};
use os::{
    guest::GuestMemory,
    memory::{AddressSpace, PAGE, Place, Rights, Sight, Touch, walk},
};
use std::{cell::Cell, rc::Rc};
use x86::{Access, Memory, Size, Stop};

const BASE: u64 = 0x10_0000;

/// Four resident pages, and two agents.
fn space() -> AddressSpace {
    let mut space = AddressSpace::new(Bytes(16 << 20));
    space.map_at(Place::Exactly(BASE), 4 * PAGE, Rights::READ_WRITE, "").unwrap();
    for page in 0..4 {
        space.write(VirtAddr(BASE + page * PAGE), &[0]).unwrap();
    }
    space.open_window(2);
    space
}

/// What an agent loads, as if by an instruction.
fn load(space: &mut AddressSpace, agent: usize, address: u64) -> u64 {
    space.window().unwrap().execute(agent);
    space.load(address, Size::B8).unwrap()
}

fn store(space: &mut AddressSpace, agent: usize, address: u64, size: Size, value: u64) {
    space.window().unwrap().execute(agent);
    space.store(address, size, value).unwrap();
}

/// The stores of the last execution.
fn stores(space: &mut AddressSpace) -> Vec<Touch> {
    space.window().unwrap().touches().iter().filter(|touch| touch.store).copied().collect()
}

fn perform(space: &mut AddressSpace, agent: usize, stores: &[Touch]) {
    for touch in stores {
        space.perform(agent, LineAddr(touch.phys.0), &touch.data);
    }
}

#[test]
fn a_store_is_its_agents_own_until_it_is_performed() {
    let mut space = space();
    store(&mut space, 0, BASE + 8, Size::B8, 7);
    let stored = stores(&mut space);
    assert_eq!((load(&mut space, 0, BASE + 8), load(&mut space, 1, BASE + 8)), (7, 0));
    perform(&mut space, 0, &stored);
    assert_eq!((load(&mut space, 0, BASE + 8), load(&mut space, 1, BASE + 8)), (7, 7));
    assert_eq!(space.window().unwrap().pending(0), 0);
}

#[test]
fn each_byte_comes_from_the_youngest_store_to_it() {
    let mut space = space();
    store(&mut space, 0, BASE, Size::B8, 0x1111_1111_1111_1111);
    let first = stores(&mut space);
    store(&mut space, 0, BASE + 2, Size::B2, 0x2222);
    let second = stores(&mut space);
    store(&mut space, 0, BASE + 3, Size::B1, 0x33);
    assert_eq!(load(&mut space, 0, BASE), 0x1111_1111_3322_1111);
    perform(&mut space, 0, &first);
    // Another agent's later store is visible where this agent has no pending store.
    store(&mut space, 1, BASE, Size::B8, 0x4444_4444_4444_4444);
    let others = stores(&mut space);
    perform(&mut space, 1, &others);
    assert_eq!(load(&mut space, 0, BASE), 0x4444_4444_3322_4444);
    perform(&mut space, 0, &second);
    assert_eq!(load(&mut space, 0, BASE), 0x4444_4444_3322_4444);
    assert_eq!(load(&mut space, 1, BASE), 0x4444_4444_2222_4444);
}

#[test]
fn an_access_is_cut_at_the_borders_of_lines_and_pages() {
    let mut space = space();
    let at = BASE + PAGE - 3;
    store(&mut space, 0, at, Size::B8, 0x8877_6655_4433_2211);
    let touched = stores(&mut space);
    let masks: Vec<Mask> = touched.iter().map(|touch| touch.data.mask()).collect();
    assert_eq!(masks, [Mask::range(61, 3), Mask::range(0, 5)]);
    assert_eq!(touched[0].virt, VirtAddr(BASE + PAGE - LINE as u64));
    assert_eq!(touched[1].virt, VirtAddr(BASE + PAGE));
    assert_eq!(load(&mut space, 0, at), 0x8877_6655_4433_2211);
    let loads = space.window().unwrap().touches().to_vec();
    assert_eq!(loads.len(), touched.len());
    assert!(loads.iter().zip(&touched).all(|(load, store)| !load.store && load.phys == store.phys));
}

#[test]
fn a_page_that_is_not_there_stops_the_program_but_not_the_kernel() {
    let mut space = space();
    let fresh = space.map_zeros(PAGE, Rights::READ_WRITE).unwrap();
    space.window().unwrap().execute(0);
    let stop = Stop::PageFault { address: fresh, access: Access::Write, present: false };
    assert_eq!(space.store(fresh, Size::B8, 1), Err(stop));
    space.window().unwrap().enter_kernel(0);
    assert_eq!(space.why(fresh, Access::Write), None);
    let written = stores(&mut space);
    for touch in &written {
        let leaf = walk(space.frames(), space.root(), touch.virt).unwrap();
        assert_eq!(leaf.place(touch.virt), touch.phys, "the kernel's stores can be translated");
    }
    // The caller sees the page at once, others after its page-table entry has been performed.
    let mut byte = [1];
    space.read(VirtAddr(fresh), &mut byte).unwrap();
    assert_eq!(byte, [0]);
    space.window().unwrap().execute(1);
    assert!(space.load(fresh, Size::B8).is_err());
    perform(&mut space, 0, &written);
    assert_eq!(load(&mut space, 1, fresh), 0);
    assert!(walk(space.frames(), space.root(), VirtAddr(fresh)).is_some());
}

#[test]
fn a_page_that_is_used_again_is_cleared_by_stores_before_anybody_finds_it() {
    let mut space = space();
    store(&mut space, 0, BASE, Size::B8, 5);
    let stored = stores(&mut space);
    perform(&mut space, 0, &stored);
    let old = walk(space.frames(), space.root(), VirtAddr(BASE)).unwrap().entry.address();
    space.window().unwrap().enter_kernel(0);
    AddressSpace::unmap(&mut space, BASE, PAGE).unwrap();
    let fresh = space.map_zeros(PAGE, Rights::READ_WRITE).unwrap();
    assert_eq!(space.why(fresh, Access::Write), None);
    let written = stores(&mut space);
    let zeroed = written.iter().filter(|touch| touch.phys.0 / PAGE == old.0 / PAGE);
    assert_eq!(zeroed.filter(|touch| touch.data == Block::full([0; LINE])).count(), PAGE as usize / LINE);
    // The last store is the one that makes the page reachable.
    let last = written.last().unwrap();
    assert!(last.phys.0 / PAGE != old.0 / PAGE && last.data.mask().len() == 8);
    perform(&mut space, 0, &written);
    space.leave_kernel();
    assert_eq!(load(&mut space, 1, fresh), 0);
}

#[test]
fn a_page_that_a_device_works_on_is_given_to_no_other_mapping() {
    let mut space = space();
    // The kernel's view includes everything it has written.
    let place = |space: &mut AddressSpace, at: u64| space.physical(VirtAddr(at), true).unwrap().unwrap();
    space.window().unwrap().enter_kernel(0);
    let page = place(&mut space, BASE);
    space.pin(page);
    space.pin(page);
    AddressSpace::unmap(&mut space, BASE, PAGE).unwrap();
    for _ in 0..2 {
        let fresh = space.map_zeros(PAGE, Rights::READ_WRITE).unwrap();
        assert_ne!(place(&mut space, fresh), page);
        space.unpin(page);
    }
    let fresh = space.map_zeros(PAGE, Rights::READ_WRITE).unwrap();
    assert_eq!(place(&mut space, fresh), page);
}

#[test]
fn what_was_remembered_of_a_page_is_forgotten_when_its_end_has_been_performed() {
    let mut space = space();
    space.window().unwrap().enter_kernel(0);
    AddressSpace::unmap(&mut space, BASE, PAGE).unwrap();
    let written = stores(&mut space);
    // The other agent may still find the page, and caches the translation.
    assert_eq!(load(&mut space, 1, BASE), 0);
    perform(&mut space, 0, &written);
    let changed = space.leave_kernel();
    assert!(changed.contains(&(BASE, BASE + PAGE)));
    space.window().unwrap().execute(1);
    assert!(space.load(BASE, Size::B8).is_err());
}

#[test]
fn what_the_kernel_writes_are_stores_of_its_caller_in_order() {
    let mut space = space();
    space.window().unwrap().enter_kernel(1);
    space.write(VirtAddr(BASE + 60), &[1; 8]).unwrap();
    space.write(VirtAddr(BASE + 60), &[2; 4]).unwrap();
    let written = stores(&mut space);
    let lengths: Vec<usize> = written.iter().map(|touch| touch.data.mask().len()).collect();
    assert_eq!(lengths, [4, 4, 4]);
    let mut bytes = [0; 8];
    space.read(VirtAddr(BASE + 60), &mut bytes).unwrap();
    assert_eq!(bytes, [2, 2, 2, 2, 1, 1, 1, 1]);
    assert_eq!(load(&mut space, 0, BASE + 60), 0);
}

#[test]
fn a_line_that_devices_may_write_is_located_first() {
    let mut space = space();
    let page = walk(space.frames(), space.root(), VirtAddr(BASE)).unwrap().entry.address();
    let sight = Rc::new(Cell::new(Sight::Away));
    let answer = Rc::clone(&sight);
    space.window().unwrap().set_look(Box::new(move |_| answer.get()));
    space.share(page);
    space.window().unwrap().execute(0);
    assert_eq!(space.load(BASE + 128, Size::B4), Err(Stop::Wait));
    let missing = space.window().unwrap().missing().unwrap();
    assert_eq!((missing.virt, missing.phys), (VirtAddr(BASE + 128), PhysAddr(page.0 + 128)));
    // An agent always sees its own store; the callback is never asked about pages that are not shared.
    store(&mut space, 0, BASE + 128, Size::B8, 9);
    assert_eq!((load(&mut space, 0, BASE + 128), load(&mut space, 0, BASE + PAGE)), (9, 0));
    sight.set(Sight::Own);
    assert_eq!(load(&mut space, 1, BASE + 128), 0);
}

#[test]
fn code_that_is_written_is_fetched_again_by_its_writer_and_then_by_all() {
    let mut space = space();
    space.window().unwrap().enter_kernel(0);
    space.protect(BASE, PAGE, Rights::from_prot(7).unwrap()).unwrap();
    let written = stores(&mut space);
    perform(&mut space, 0, &written);
    space.leave_kernel();
    let fetch = |space: &mut AddressSpace, agent| {
        space.window().unwrap().execute(agent);
        let mut bytes = [0; 1];
        space.fetch(BASE, &mut bytes).unwrap();
        bytes[0]
    };
    assert_eq!(fetch(&mut space, 0), 0);
    let version = space.code_version();
    store(&mut space, 0, BASE, Size::B1, 0x90);
    let stored = stores(&mut space);
    assert_ne!(space.code_version(), version);
    assert_eq!((fetch(&mut space, 0), fetch(&mut space, 1)), (0x90, 0));
    let version = space.code_version();
    perform(&mut space, 0, &stored);
    assert_ne!(space.code_version(), version);
    assert_eq!(fetch(&mut space, 1), 0x90);
}

#[test]
fn stores_to_one_line_may_be_performed_as_one() {
    let mut space = space();
    space.window().unwrap().execute(0);
    for (place, value) in [(0, 1), (8, 2), (4, 3)] {
        space.store(BASE + place, Size::B8, value).unwrap();
    }
    let stored = stores(&mut space);
    let mut joined = stored[0].data;
    stored[1..].iter().for_each(|touch| joined.write(&touch.data));
    space.perform(0, LineAddr(stored[0].phys.0), &joined);
    assert_eq!((space.window().unwrap().pending(0), load(&mut space, 1, BASE)), (0, 3 << 32 | 1));
}

#[test]
#[should_panic(expected = "before an older one")]
fn stores_that_are_performed_out_of_order_are_found_out() {
    let mut space = space();
    store(&mut space, 0, BASE, Size::B8, 1);
    store(&mut space, 0, BASE + 64, Size::B8, 2);
    let second = stores(&mut space);
    perform(&mut space, 0, &second);
}

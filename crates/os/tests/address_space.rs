//! Tests of address spaces through the kernel's interface.

use mem::{Bytes, VirtAddr};
use os::{
    GuestMemory,
    guest::Guard,
    memory::{
        Access, AddressSpace, Backing, BadAccess, Entry, HUGE_PAGE, MapError, MapRequest, MappedFile, Move, PAGE,
        Place, Rights, walk,
    },
};
use std::{io, rc::Rc};
use x86::{Blocks, Cpu, Exit, Memory, Reg, Size, Stop};

fn space() -> AddressSpace {
    AddressSpace::new(Bytes(64 << 20))
}

fn zeros(space: &mut AddressSpace, pages: u64) -> u64 {
    space.map_zeros(pages * PAGE, Rights::READ_WRITE).unwrap()
}

fn request(size: u64) -> MapRequest {
    MapRequest {
        place: Place::Anywhere(0),
        size,
        rights: Rights::READ_WRITE,
        backing: Backing::Zeros(""),
        shared: false,
        huge: false,
        no_reserve: false,
    }
}

struct Text(&'static [u8]);

impl MappedFile for Text {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or(&[]);
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn path(&self) -> &str {
        "/text"
    }
}

#[test]
fn a_guarded_page_refuses_the_host_and_keeps_its_frame() {
    let mut space = space();
    let start = zeros(&mut space, 3);
    space.store(start + PAGE, Size::B8, 7).unwrap();
    let frame = space.beneath(VirtAddr(start + PAGE));
    space.guard(VirtAddr(start + PAGE), Bytes(PAGE), Guard::Writes);
    assert_eq!(space.load(start + PAGE, Size::B8), Ok(7));
    assert!(space.store(start + PAGE, Size::B8, 8).is_err());
    assert_eq!(space.why(start + PAGE, Access::Write), Some(BadAccess::Guarded));
    space.guard(VirtAddr(start + PAGE), Bytes(PAGE), Guard::All);
    assert!(space.load(start + PAGE, Size::B8).is_err());
    assert_eq!((space.load(start, Size::B8), space.load(start + 2 * PAGE, Size::B8)), (Ok(0), Ok(0)));
    // Changing the program's rights does not remove the guard.
    space.protect(start, 3 * PAGE, Rights::READ).unwrap();
    space.protect(start, 3 * PAGE, Rights::READ_WRITE).unwrap();
    assert!(space.load(start + PAGE, Size::B8).is_err());
    assert_eq!(space.beneath(VirtAddr(start + PAGE)), frame);
    space.guard(VirtAddr(start + PAGE), Bytes(PAGE), Guard::None);
    assert_eq!((space.load(start + PAGE, Size::B8), space.store(start + PAGE, Size::B8, 9)), (Ok(7), Ok(())));
}

#[test]
fn a_guarded_page_that_was_never_touched_has_a_frame_and_loses_its_guard_when_it_is_mapped_again() {
    let mut space = space();
    let start = zeros(&mut space, 1);
    space.guard(VirtAddr(start), Bytes(PAGE), Guard::All);
    assert!(matches!(space.beneath(VirtAddr(start)), Some(Ok(_))));
    assert!(space.load(start, Size::B8).is_err());
    space.unmap(start, PAGE).unwrap();
    let again = space.map_at(Place::Exactly(start), PAGE, Rights::READ_WRITE, "").unwrap();
    assert_eq!(space.load(again, Size::B8), Ok(0));
}

#[test]
fn untouched_memory_reads_as_zeros_and_shares_one_page_until_written() {
    let mut space = space();
    let start = zeros(&mut space, 8);
    for page in 0..8 {
        assert_eq!(space.load(start + page * PAGE, Size::B8), Ok(0));
    }
    let place = |space: &AddressSpace, at| walk(space.frames(), space.root(), VirtAddr(at)).unwrap();
    let (first, second) = (place(&space, start), place(&space, start + PAGE));
    assert_eq!(first.entry.address(), second.entry.address());
    assert!(!first.entry.has(Entry::WRITABLE));
    space.store(start, Size::B4, 7).unwrap();
    assert_eq!((space.load(start, Size::B8), space.load(start + PAGE, Size::B8)), (Ok(7), Ok(0)));
    let written = place(&space, start).entry;
    assert!(written.has(Entry::WRITABLE) && written.has(Entry::DIRTY) && written.has(Entry::ACCESSED));
}

#[test]
fn an_access_may_cross_a_page_and_is_done_whole_or_not_at_all() {
    let mut space = space();
    let start = zeros(&mut space, 2);
    space.store(start + PAGE - 3, Size::B8, 0x1122_3344_5566_7788).unwrap();
    assert_eq!(space.load(start + PAGE - 3, Size::B8), Ok(0x1122_3344_5566_7788));
    space.protect(start + PAGE, PAGE, Rights::READ).unwrap();
    let stop = Stop::PageFault { address: start + PAGE, access: Access::Write, present: true };
    assert_eq!(space.store(start + PAGE - 3, Size::B8, 0), Err(stop));
    assert_eq!(space.load(start + PAGE - 3, Size::B8), Ok(0x1122_3344_5566_7788));
}

#[test]
fn protection_changes_and_the_bytes_stay() {
    let mut space = space();
    let start = zeros(&mut space, 3);
    space.store(start + PAGE, Size::B8, 42).unwrap();
    space.protect(start + PAGE, PAGE, Rights::NONE).unwrap();
    assert_eq!(space.why(start + PAGE, Access::Read), Some(BadAccess::Forbidden));
    assert!(space.load(start + PAGE, Size::B8).is_err());
    assert!(space.store(start, Size::B8, 1).is_ok());
    space.protect(start + PAGE, PAGE, Rights::READ_WRITE).unwrap();
    assert_eq!(space.load(start + PAGE, Size::B8), Ok(42));
    assert_eq!(space.protect(start + 2 * PAGE, 2 * PAGE, Rights::READ), Err(MapError::NoMemory));
}

#[test]
fn a_reservation_of_a_terabyte_costs_nothing_and_goes_at_once() {
    let mut space = space();
    let before = space.used();
    let start = space.map(MapRequest { rights: Rights::NONE, no_reserve: true, ..request(1 << 40) }).unwrap();
    assert_eq!(space.used(), before);
    space.protect(start + (1 << 39), PAGE, Rights::READ_WRITE).unwrap();
    space.store(start + (1 << 39), Size::B8, 1).unwrap();
    space.unmap(start, 1 << 40).unwrap();
    assert_eq!(space.why(start, Access::Read), Some(BadAccess::NotMapped));
    assert_eq!(space.map(request(1 << 40)), Err(MapError::NoMemory), "that much writable memory can't work");
}

#[test]
fn huge_pages_are_used_where_requested_and_split_when_part_of_one_changes() {
    let mut space = space();
    let start = space.map(MapRequest { huge: true, ..request(2 * HUGE_PAGE) }).unwrap();
    space.store(start + 0x12_3456, Size::B8, 99).unwrap();
    assert_eq!(walk(space.frames(), space.root(), VirtAddr(start)).unwrap().size, HUGE_PAGE);
    space.protect(start + 4 * PAGE, PAGE, Rights::READ).unwrap();
    assert_eq!(walk(space.frames(), space.root(), VirtAddr(start)).unwrap().size, PAGE);
    assert_eq!(space.load(start + 0x12_3456, Size::B8), Ok(99));
    assert!(space.store(start + 4 * PAGE, Size::B1, 0).is_err());
}

#[test]
fn large_anonymous_memory_begins_where_a_huge_page_may_if_such_pages_are_used() {
    let mut space = space();
    space.huge_pages = true;
    for _ in 0..3 {
        let start = space.map(request(HUGE_PAGE + PAGE)).unwrap();
        assert!(start.is_multiple_of(HUGE_PAGE));
        for (page, size) in [(start, HUGE_PAGE), (start + HUGE_PAGE, PAGE)] {
            space.store(page, Size::B8, 1).unwrap();
            assert_eq!(walk(space.frames(), space.root(), VirtAddr(page)).unwrap().size, size);
        }
    }
}

#[test]
fn memory_that_is_given_back_can_be_used_again() {
    let mut space = AddressSpace::new(Bytes(2 << 20));
    for round in 0..20 {
        let start = zeros(&mut space, 256);
        for page in 0..256 {
            assert_eq!(space.load(start + page * PAGE, Size::B8), Ok(0), "round {round}");
            space.store(start + page * PAGE, Size::B8, round + 1).unwrap();
        }
        space.unmap(start, 256 * PAGE).unwrap();
    }
    assert!(!space.exhausted());
}

#[test]
fn the_limit_holds_and_is_reported() {
    let mut space = AddressSpace::new(Bytes(1 << 20));
    let start = zeros(&mut space, 256);
    let written = (0..256).take_while(|page| space.store(start + page * PAGE, Size::B8, 1).is_ok()).count();
    assert!((200..256).contains(&written), "{written}");
    assert!(space.exhausted());
}

#[test]
fn discarded_pages_read_as_zeros() {
    let mut space = space();
    let start = zeros(&mut space, 2);
    space.store(start, Size::B8, 5).unwrap();
    space.discard(start, PAGE).unwrap();
    assert_eq!(space.load(start, Size::B8), Ok(0));
}

#[test]
fn a_private_file_mapping_shows_the_file_and_keeps_writes_to_itself() {
    let mut space = space();
    let backing = Backing::File { file: Rc::new(Text(b"hello")), offset: 0 };
    let start = space.map(MapRequest { backing, ..request(2 * PAGE) }).unwrap();
    let mut bytes = [0; 6];
    space.read(VirtAddr(start), &mut bytes).unwrap();
    assert_eq!(&bytes, b"hello\0");
    space.write(VirtAddr(start), b"J").unwrap();
    assert_eq!(space.load(start, Size::B1), Ok(b'J'.into()));
    assert_eq!(space.why(start + PAGE, Access::Read), Some(BadAccess::PastEndOfFile));
    space.discard(start, PAGE).unwrap();
    assert_eq!(space.load(start, Size::B1), Ok(b'h'.into()));
}

#[test]
fn a_mapping_grows_in_place_or_moves_with_its_bytes() {
    let mut space = space();
    let start = zeros(&mut space, 4);
    space.store(start, Size::B8, 1).unwrap();
    space.store(start + 3 * PAGE, Size::B8, 4).unwrap();
    // Mappings are placed downwards, so the range above is taken.
    let below = zeros(&mut space, 1);
    assert_eq!(below, start - PAGE);
    assert_eq!(space.remap(below, PAGE, 2 * PAGE, Move::Never), Err(MapError::NoMemory));
    let moved = space.remap(start, 4 * PAGE, 8 * PAGE, Move::IfNeeded).unwrap();
    assert_eq!((space.load(moved, Size::B8), space.load(moved + 3 * PAGE, Size::B8)), (Ok(1), Ok(4)));
    assert_eq!(space.load(moved + 7 * PAGE, Size::B8), Ok(0));
    if moved != start {
        assert_eq!(space.why(start, Access::Read), Some(BadAccess::NotMapped));
    }
    assert_eq!(space.remap(moved, 8 * PAGE, PAGE, Move::Never), Ok(moved));
    assert_eq!(space.why(moved + PAGE, Access::Read), Some(BadAccess::NotMapped));
}

#[test]
fn writing_to_code_changes_its_version_and_writing_elsewhere_does_not() {
    let mut space = space();
    let rights = Rights::from_prot(7).unwrap();
    let code = space.map(MapRequest { rights, ..request(PAGE) }).unwrap();
    let data = zeros(&mut space, 1);
    space.store(code, Size::B1, 0xc3).unwrap();
    let version = space.code_version();
    let mut bytes = [0; 15];
    assert_eq!(space.fetch(code, &mut bytes), Ok(15));
    assert_eq!(bytes[0], 0xc3);
    space.store(data, Size::B8, 1).unwrap();
    assert_eq!(space.code_version(), version);
    assert_eq!(space.store(code + 8, Size::B1, 0x90), Err(Stop::CodeWrite));
    assert_ne!(space.code_version(), version);
    assert_eq!(space.load(code + 8, Size::B1), Ok(0), "nothing was stored yet");
    assert_eq!(space.store(code + 8, Size::B1, 0x90), Ok(()));
    let version = space.code_version();
    space.fetch(code, &mut bytes).unwrap();
    space.protect(code, PAGE, Rights::READ).unwrap();
    assert_ne!(space.code_version(), version);
    assert!(space.fetch(code, &mut bytes).is_err());
}

#[test]
fn a_block_that_writes_itself_executes_what_it_wrote() {
    let mut space = space();
    let rights = Rights::from_prot(7).unwrap();
    let start = space.map(MapRequest { rights, ..request(PAGE) }).unwrap();
    // mov byte [rip + 1], 7; mov eax, 1; hlt
    let code = [0xc6, 0x05, 0x01, 0, 0, 0, 0x07, 0xb8, 0x01, 0, 0, 0, 0xf4];
    space.write(VirtAddr(start), &code).unwrap();
    let (mut cpu, mut blocks) = (Cpu::new(), Blocks::new());
    cpu.rip = start;
    assert!(matches!(cpu.run(&mut space, &mut blocks, 100), Exit::Fault(_)));
    assert_eq!((cpu.gpr[Reg::Rax], cpu.instructions), (7, 2));
}

#[test]
fn tens_of_thousands_of_mappings_fill_the_address_space_from_the_top() {
    let mut space = space();
    let top = zeros(&mut space, 1);
    // Neighbours have different rights, so that areas don't merge; every third is unmapped again.
    for number in 1..60_000 {
        let rights = if number % 2 == 0 { Rights::READ } else { Rights::READ_WRITE };
        let start = space.map_zeros(PAGE, rights).unwrap();
        assert_eq!(start, top - number * PAGE);
    }
    for number in (3..60_000).step_by(3) {
        space.unmap(top - number * PAGE, PAGE).unwrap();
    }
    assert_eq!(space.map_zeros(2 * PAGE, Rights::READ), Ok(top - 60_001 * PAGE));
    assert_eq!(space.map_zeros(PAGE, Rights::READ), Ok(top - 3 * PAGE));
}

#[test]
fn a_mapping_with_an_address_of_31_bits_is_found() {
    let mut space = space();
    let start = space.map(MapRequest { place: Place::Low, ..request(PAGE) });
    assert_eq!(start, Ok(0x8000_0000 - PAGE));
}

#[test]
fn code_at_the_end_of_a_mapping_is_fetched_as_far_as_it_goes() {
    let mut space = space();
    let start = space.map(MapRequest { rights: Rights::READ_EXECUTE, ..request(PAGE) }).unwrap();
    let mut bytes = [0; 15];
    assert_eq!(space.fetch(start + PAGE - 4, &mut bytes), Ok(4));
    assert!(space.fetch(start + PAGE, &mut bytes).is_err());
}

#[test]
fn addresses_outside_a_programs_half_are_refused() {
    let mut space = space();
    for address in [0, 0xfff, 0x7fff_ffff_f000, 0x8000_0000_0000, 0xffff_8000_0000_0000, u64::MAX - 3] {
        assert!(space.load(address, Size::B8).is_err(), "{address:#x}");
        assert!(space.store128(address, 0).is_err(), "{address:#x}");
        assert!(space.read(VirtAddr(address), &mut [0; 64]).is_err(), "{address:#x}");
        assert!(space.unmap(address | 0xfff, PAGE).is_err(), "{address:#x}");
    }
    assert_eq!(space.map(MapRequest { place: Place::Exactly(0), ..request(PAGE) }), Err(MapError::NoMemory));
    assert_eq!(space.map(request(u64::MAX)), Err(MapError::Invalid));
    assert_eq!(space.unmap(!0xfff, u64::MAX), Err(MapError::Invalid));
}

#[test]
fn the_heap_ends_at_the_requested_address() {
    let mut space = space();
    let start = 0x60_0000;
    assert_eq!(space.set_break(start, start, start + 100), start + 100);
    space.store(start + 50, Size::B8, 1).unwrap();
    assert_eq!(space.set_break(start, start + 100, start - 1), start + 100);
    assert_eq!(space.set_break(start, start + 100, start), start);
    assert!(space.load(start + 50, Size::B8).is_err());
}

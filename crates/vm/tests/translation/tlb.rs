use crate::{
    tables::{phys, virt},
    world::SPACE,
};
use mem::{Asid, PhysAddr, VirtAddr};
use vm::{PageSize, Rights, ShapeError, Shootdown, Tlb, TlbSpec, Translation};

fn page(number: u64, size: PageSize) -> Translation {
    let (page, frame) = (virt(number).align_down(size.bytes()), phys(number).align_down(size.bytes()));
    Translation { page, frame, size, rights: Rights { write: true, execute: false } }
}

fn small(number: u64) -> Translation {
    page(number, PageSize::Small)
}

fn has(tlb: &mut Tlb, number: u64) -> bool {
    tlb.look_up(SPACE, virt(number)).is_some()
}

#[test]
fn the_page_of_a_set_that_was_used_least_recently_goes_first() {
    let mut tlb = Tlb::new(TlbSpec::new(4, 2).unwrap());
    assert!([0, 2, 1].iter().all(|number| tlb.insert(SPACE, small(*number)).is_none()));
    assert!(has(&mut tlb, 0));
    assert!(tlb.insert(SPACE, small(4)).is_some(), "a third page of the even set");
    assert_eq!([0, 1, 2, 4].map(|number| has(&mut tlb, number)), [true, true, false, true]);
}

#[test]
fn a_page_belongs_to_its_address_space() {
    let mut tlb = Tlb::new(TlbSpec::new(4, 4).unwrap());
    tlb.insert(SPACE, small(1));
    tlb.insert(Asid(2), small(1));
    assert_eq!(tlb.look_up(Asid(3), virt(1)), None);
    assert_eq!(tlb.forget(Shootdown::Space { asid: Asid(2) }), 1);
    assert_eq!((tlb.look_up(Asid(2), virt(1)), has(&mut tlb, 1)), (None, true));
    assert_eq!(tlb.forget(Shootdown::All), 1);
    assert!(!has(&mut tlb, 1));
}

#[test]
fn a_huge_page_covers_its_small_ones_and_goes_with_any_of_them() {
    let mut tlb = Tlb::new(TlbSpec::new(8, 2).unwrap());
    tlb.insert(SPACE, page(0, PageSize::Huge));
    tlb.insert(SPACE, small(512));
    let inside = VirtAddr(virt(300).0 + 0x123);
    let found = tlb.look_up(SPACE, inside).unwrap();
    assert_eq!((found.place(inside), found.size), (PhysAddr(phys(300).0 + 0x123), PageSize::Huge));
    assert_eq!(tlb.forget(Shootdown::Page { asid: SPACE, virt: virt(17) }), 1);
    assert_eq!([0, 300, 511, 512].map(|number| has(&mut tlb, number)), [false, false, false, true]);
}

#[test]
fn what_is_put_in_takes_the_place_of_what_was_known_about_its_page() {
    let mut tlb = Tlb::new(TlbSpec::new(2, 2).unwrap());
    tlb.insert(SPACE, page(0, PageSize::Huge));
    let moved = Translation { frame: phys(99), ..small(3) };
    tlb.insert(SPACE, moved);
    assert_eq!(tlb.look_up(SPACE, virt(3)), Some(moved));
    assert!(!has(&mut tlb, 4), "the huge page was cut");
}

#[test]
fn shapes_that_cannot_be_built_are_refused() {
    assert_eq!(TlbSpec::new(10, 4), Err(ShapeError::Uneven { entries: 10, ways: 4 }));
    assert_eq!(TlbSpec::new(0, 0), Err(ShapeError::Uneven { entries: 0, ways: 0 }));
    let sets = TlbSpec::new(12, 4).unwrap_err();
    assert_eq!(sets.to_string(), "12 entries in sets of 4 are 3 sets: that must be a power of two");
}

//! Random mappings, compared with a simple model: a list of pages.

use mem::Bytes;
use os::memory::{AddressSpace, Backing, HUGE_PAGE, MapRequest, Move, PAGE, Place, Rights};
use proptest::{collection::vec, prelude::*};
use x86::{Memory, Size};

/// The range in use: two huge pages and a part of a third.
const BASE: u64 = 0x1000_0000;
const PAGES: usize = 1100;

#[derive(Clone, Copy, Debug)]
enum Op {
    Map { page: usize, count: usize, rights: u64, huge: bool },
    Unmap { page: usize, count: usize },
    Protect { page: usize, count: usize, rights: u64 },
    Discard { page: usize, count: usize },
    Move { from: usize, count: usize, to: usize },
    Store { page: usize, value: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let page = || 0..PAGES;
    // Half of all ranges are about as long as a huge page.
    let count = || prop_oneof![1_usize..8, 400_usize..700];
    let rights = || prop_oneof![Just(0_u64), Just(1), Just(3), Just(3)];
    prop_oneof![
        2 => (page(), count(), rights(), any::<bool>())
            .prop_map(|(page, count, rights, huge)| Op::Map { page, count, rights, huge }),
        1 => (page(), count()).prop_map(|(page, count)| Op::Unmap { page, count }),
        2 => (page(), count(), rights()).prop_map(|(page, count, rights)| Op::Protect { page, count, rights }),
        1 => (page(), count()).prop_map(|(page, count)| Op::Discard { page, count }),
        1 => (page(), 1_usize..40, page()).prop_map(|(from, count, to)| Op::Move { from, count, to }),
        6 => (page(), 1_u64..1000).prop_map(|(page, value)| Op::Store { page, value }),
    ]
}

/// A mapped page: its rights and its first word.
type Page = Option<(u64, u64)>;

fn address(page: usize) -> u64 {
    BASE + page as u64 * PAGE
}

fn apply(space: &mut AddressSpace, model: &mut [Page], op: Op) {
    let within = |page: usize, count: usize| count.min(PAGES - page);
    match op {
        Op::Map { page, count, rights, huge } => {
            // Huge mappings are aligned to huge pages.
            let step = if huge { (HUGE_PAGE / PAGE) as usize } else { 1 };
            let first = page / step * step;
            let count = within(first, count.next_multiple_of(step)) / step * step;
            if count == 0 {
                return;
            }
            let request = MapRequest {
                place: Place::Exactly(address(first)),
                size: count as u64 * PAGE,
                rights: Rights::from_prot(rights).unwrap(),
                backing: Backing::Zeros(""),
                shared: false,
                huge,
                no_reserve: false,
            };
            assert_eq!(space.map(request), Ok(address(first)));
            model[first..first + count].fill(Some((rights, 0)));
        }
        Op::Unmap { page, count } => {
            let count = within(page, count);
            space.unmap(address(page), count as u64 * PAGE).unwrap();
            model[page..page + count].fill(None);
        }
        Op::Protect { page, count, rights } => {
            let count = within(page, count);
            let all = model[page..page + count].iter().all(Option::is_some);
            let done = space.protect(address(page), count as u64 * PAGE, Rights::from_prot(rights).unwrap());
            assert_eq!(done.is_ok(), all);
            if all {
                model[page..page + count].iter_mut().flatten().for_each(|page| page.0 = rights);
            }
        }
        Op::Discard { page, count } => {
            let count = within(page, count);
            let all = model[page..page + count].iter().all(Option::is_some);
            assert_eq!(space.discard(address(page), count as u64 * PAGE).is_ok(), all);
            if all {
                model[page..page + count].iter_mut().flatten().for_each(|page| page.1 = 0);
            }
        }
        Op::Move { from, count, to } => {
            let count = within(from, count).min(within(to, count));
            let size = count as u64 * PAGE;
            let moved = space.remap(address(from), size, size, Move::To(address(to))).is_ok();
            let must_move = count == 1 && from != to && model[from].is_some();
            assert!(moved || !must_move, "page {from} can move to {to}");
            if moved {
                for page in 0..count {
                    assert!(model[from + page].is_some(), "what is moved is mapped");
                    model[to + page] = model[from + page].take();
                }
            }
        }
        Op::Store { page, value } => {
            let stored = space.store(address(page), Size::B8, value).is_ok();
            let may = matches!(model[page], Some((rights, _)) if rights & 2 != 0);
            assert_eq!(stored, may, "page {page}");
            if let Some(page) = &mut model[page]
                && may
            {
                page.1 = value;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_address_space_does_what_a_list_of_pages_does(ops in vec(op(), 1..60)) {
        let mut space = AddressSpace::new(Bytes(256 << 20));
        let mut model: Vec<Page> = vec![None; PAGES];
        for op in ops {
            apply(&mut space, &mut model, op);
            // Check a sample now, and everything at the end.
            check(&mut space, &model, 37);
        }
        check(&mut space, &model, 1);
        space.unmap(BASE, PAGES as u64 * PAGE).unwrap();
        let left = space.used();
        prop_assert!(left <= Bytes(64 * PAGE), "{left} left of the tables");
    }
}

fn check(space: &mut AddressSpace, model: &[Page], step: usize) {
    for (page, expected) in model.iter().enumerate().step_by(step) {
        let expected = expected.filter(|(rights, _)| *rights != 0).map(|(_, value)| value);
        assert_eq!(space.load(address(page), Size::B8).ok(), expected, "page {page}");
    }
}

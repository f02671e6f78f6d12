//! The loader on damaged files: the result is a code object or an error, never a panic.
//!
//! A bounded, repeatable substitute for the fuzz target `loader`: valid objects of every kind with bytes changed, cut,
//! copied and replaced by extreme numbers.

#[path = "support/damage.rs"]
mod damage;
#[path = "support/exercise.rs"]
mod exercise;
mod support;

use damage::{EDGES, damage_once};
use exercise::exercise;
use mem::SplitMix64;
use support::Version2;

const V4: &[u8] = include_bytes!("objects/v4.hsaco");
const V5: &[u8] = include_bytes!("objects/v5.hsaco");
const UNLINKED: &[u8] = include_bytes!("objects/kernels.o");

fn mutate(file: &mut Vec<u8>, random: &mut SplitMix64) {
    for _ in 0..=random.below(4) {
        damage_once(file, random);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let names = ["saxpy", "reverse", "ids", "scratch", "anywhere"];
    let old = |metadata| Version2 { from: V4, kernels: &names, metadata, isa: Some([8, 0, 3]) }.build();
    vec![V4.to_vec(), V5.to_vec(), UNLINKED.to_vec(), old(true), old(false)]
}

#[test]
fn sound_objects_are_loaded_and_launched() {
    assert_eq!(seeds().iter().map(|file| exercise(file)).collect::<Vec<_>>(), [6, 6, 6, 5, 0]);
}

#[test]
fn damaged_objects_are_answered_without_a_panic() {
    let mut random = SplitMix64(3);
    let mut launched = 0;
    for file in seeds() {
        for _ in 0..4000 {
            let mut file = file.clone();
            mutate(&mut file, &mut random);
            launched += exercise(&file);
        }
    }
    assert!(launched > 1000, "the damage is so heavy ({launched} launches) that it tests the first check only");
}

#[test]
fn damaged_metadata_is_answered_without_a_panic() {
    // Metadata has its own readers, so damage it alone, inside a valid file.
    let mut random = SplitMix64(4);
    let mut with_metadata = 0;
    for file in seeds() {
        let words: [&[u8]; 2] = [b"amdhsa.kernels", b"Kernels:"];
        let Some(start) = words.iter().find_map(|word| file.windows(word.len()).position(|window| window == *word))
        else {
            continue;
        };
        with_metadata += 1;
        for _ in 0..4000 {
            let mut file = file.clone();
            for _ in 0..=random.below(3) {
                let at = start - 8 + random.below(3000);
                if let Some(byte) = file.get_mut(at) {
                    *byte = match random.below(3) {
                        0 => random.draw() as u8,
                        1 => *byte ^ 1 << random.below(8),
                        _ => b"[]{}'\":-# \n\xdf\xdd\xdb\xcf\x8f\x9f"[random.below(17)],
                    };
                }
            }
            exercise(&file);
        }
    }
    assert_eq!(with_metadata, 4, "all files but one have metadata");
}

#[test]
fn damaged_descriptors_are_answered_without_a_panic() {
    let mut random = SplitMix64(5);
    let mut launched = 0;
    for file in seeds() {
        let object = gcn3::object::CodeObject::parse(&file).unwrap();
        // In a linked file of this size, addresses before the code equal file offsets; so do those of version 2.
        let places: Vec<usize> = object.kernels().iter().map(|kernel| kernel.descriptor.address.0 as usize).collect();
        for _ in 0..4000 {
            let mut file = file.clone();
            for _ in 0..=random.below(2) {
                let at = places[random.below(places.len())] + random.below(64) * 2;
                let width = 1 << random.below(4);
                let bytes = EDGES[random.below(EDGES.len())].to_le_bytes();
                if let Some(field) = file.get_mut(at..at + width) {
                    field.copy_from_slice(&bytes[..width]);
                }
            }
            launched += exercise(&file);
        }
    }
    assert!(launched > 1000, "the damage is so heavy ({launched} launches) that it tests the first check only");
}

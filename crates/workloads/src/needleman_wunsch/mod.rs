//! Sequence alignment by Needleman and Wunsch: dependences along the diagonals of a matrix, and workgroups smaller than
//! a wavefront.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "needleman-wunsch",
    about: "scores the alignments of two sequences, one launch per diagonal of blocks",
    source: include_str!("needleman_wunsch.cl"),
    object: include_bytes!("needleman_wunsch.hsaco"),
    host: include_str!("needleman_wunsch.c"),
    sizes: |size| format!("two sequences of {} letters", side(size)),
    run,
};

const BLOCK: usize = 16;
const PENALTY: i32 = 10;

fn side(size: Size) -> usize {
    size.pick(64, 1024)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = side(size);
    let mut rng = Rng::new(19);
    let matches = matches(&mut rng, n);
    let scores = borders(n);

    let (score_buffer, match_buffer) = (gpu.upload(&scores)?, gpu.upload(&matches)?);
    let blocks = n / BLOCK;
    for diagonal in 0..2 * blocks - 1 {
        let first = (diagonal + 1).saturating_sub(blocks);
        let last = diagonal.min(blocks - 1);
        let range = NdRange::line((last - first + 1) * BLOCK, BLOCK as u32);
        gpu.launch("align_diagonal", range, args![score_buffer, match_buffer, n, diagonal, first, PENALTY])?;
    }

    Ok(equal("scores", &gpu.download(score_buffer, scores.len())?, &reference(scores, &matches, n))?)
}

/// The match score of each pair of letters of the two sequences, from a random table over 24 letters.
fn matches(rng: &mut Rng, n: usize) -> Vec<i32> {
    const LETTERS: usize = 24;
    let table: Vec<i32> = (0..LETTERS * LETTERS).map(|_| rng.below(16) as i32 - 6).collect();
    let [down, across] = [(); 2].map(|_| (0..n).map(|_| rng.below(LETTERS as u32) as usize).collect::<Vec<_>>());
    down.iter().flat_map(|d| across.iter().map(|a| table[d * LETTERS + a]).collect::<Vec<_>>()).collect()
}

/// The score matrix with its first row and column, which have only gaps.
fn borders(n: usize) -> Vec<i32> {
    let mut scores = vec![0; (n + 1) * (n + 1)];
    for i in 0..=n {
        scores[i] = -(i as i32) * PENALTY;
        scores[i * (n + 1)] = -(i as i32) * PENALTY;
    }
    scores
}

fn reference(mut scores: Vec<i32>, matches: &[i32], n: usize) -> Vec<i32> {
    let stride = n + 1;
    for y in 1..=n {
        for x in 1..=n {
            let matched = scores[(y - 1) * stride + x - 1] + matches[(y - 1) * n + x - 1];
            let gap = scores[(y - 1) * stride + x].max(scores[y * stride + x - 1]) - PENALTY;
            scores[y * stride + x] = matched.max(gap);
        }
    }
    scores
}

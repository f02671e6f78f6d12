//! The size of UMH's directories in bits (`[umh 5]`, Figs. 7 and 11), and the bytes that one dynamic synchronisation
//! moves at most (6.2).

use crate::catalogue::Storage;
use mem::Bytes;

/// The configuration of Table III and section 5: four GPUs with four stacks of 1 GB each, two HMDs, lines of 64 bytes,
/// blocks of 4 KB, 16 L1s per GPU.
const LINE: u64 = 64;
const BLOCK: u64 = 4 << 10;
const STACK: u64 = 1 << 30;
const GPUS: u64 = 4;
const STACKS: u64 = 4;
const HMDS: u64 = 2;
const L1S: u64 = 16;

/// Bits that encode six states.
const STATE: u64 = 3;
/// The tag that the paper computes for a stack of 1 GB: 64 bits, less 24 for the set, 6 for the line and 2 for the
/// stack. It does not depend on the block size: larger blocks move bits from the set to the offset.
const TAG: u64 = 64 - 24 - 6 - 2;

/// Bits of an SMD entry for one line: tag, state, and the owner bit (Fig. 7, a).
const LINE_ENTRY: u64 = TAG + STATE + 1;
/// Bits of an SMD entry for a block, without the owner bit of each line (Fig. 7, b).
const BLOCK_ENTRY: u64 = TAG + STATE;

/// Bits of a field that names one of `n` nodes, or none.
const fn owner(n: u64) -> u64 {
    (n + 1).next_power_of_two().ilog2() as u64
}

/// Bits of an HMD entry: a bit for each SMD that it serves, and the owner (5.2).
const fn hmd_entry() -> u64 {
    let smds = GPUS * STACKS / HMDS;
    smds + owner(smds)
}

/// The storage of each SMD and HMD.
pub fn storage() -> Vec<Storage> {
    let bits = |bits: u64| Bytes(bits.div_ceil(8));
    let (lines, blocks) = (STACK / LINE, STACK / BLOCK);
    // Blocks that an HMD can have to track: as many as fit into the stacks of one GPU that it serves.
    let hmd_blocks = blocks * STACKS / HMDS;
    vec![
        Storage { what: "SMD of a 1 GB stack, an entry for each line (36 bits)", bytes: bits(lines * LINE_ENTRY) },
        Storage {
            what: "SMD of a 1 GB stack, an entry for each 4 KB block (35 bits and a bit a line)",
            bytes: bits(blocks * (BLOCK_ENTRY + BLOCK / LINE)),
        },
        Storage {
            what: "HMD for the blocks of two such stacks of each GPU (8 sharers and 4 bits of owner)",
            bytes: bits(hmd_blocks * hmd_entry()),
        },
        Storage { what: "byte mask of a 1 GB stack, 1 byte a bit (12.5%)", bytes: bits(STACK) },
        Storage { what: "byte mask of a 1 GB stack, 4 bytes a bit (3.12%)", bytes: bits(STACK / 4) },
        Storage { what: "moved by one dynamic synchronisation of all GPUs, L1s write through", bytes: Bytes(moved(0)) },
        Storage { what: "moved by one dynamic synchronisation of all GPUs, L1s write back", bytes: Bytes(moved(L1S)) },
    ]
}

/// In every GPU, a block moves from each L1 that writes back to the L2, from the L2 to its stack, and from there to the
/// host.
fn moved(l1s: u64) -> u64 {
    GPUS * (l1s * BLOCK + BLOCK + BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_figures_come_out() {
        assert_eq!((LINE_ENTRY, BLOCK_ENTRY), (36, 35), "Fig. 7");
        let bytes: Vec<u64> = storage().iter().map(|storage| storage.bytes.0).collect();
        assert_eq!(bytes[0], 72 << 20, "5: 72 MB for 36 bits a line");
        assert_eq!(bytes[1], (1 << 18) * 99 / 8, "a block has 35 + 64 bits");
        assert_eq!(hmd_entry(), 8 + 4, "5.2: n bits and the logarithm of n + 1");
        assert!(bytes[2] < bytes[1], "Fig. 11: the HMD is smaller than the SMD");
        assert_eq!((bytes[3], bytes[4]), (128 << 20, 32 << 20), "4.1.2: 12.5% and 3.12%");
        assert_eq!((bytes[5], bytes[6]), (32 << 10, 288 << 10), "6.2");
    }
}

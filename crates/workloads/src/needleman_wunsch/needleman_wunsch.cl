// Needleman and Wunsch's alignment of two sequences. score[y][x] is the best of: score[y-1][x-1] + how well the two
// letters match, score[y-1][x] - penalty, score[y][x-1] - penalty. The matrix is cut into blocks; the blocks of one
// diagonal do not depend on each other and are one launch. A workgroup has one work-item per column of its block.
#define BLOCK 16

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void align_diagonal(__global int *scores, __global const int *matches, uint side, uint diagonal, uint first_column,
                    int penalty)
{
    __local int block[BLOCK + 1][BLOCK + 1];
    __local int match[BLOCK][BLOCK];
    uint l = get_local_id(0);
    uint block_x = first_column + get_group_id(0), block_y = diagonal - block_x;
    uint stride = side + 1;
    uint left = block_x * BLOCK, top = block_y * BLOCK;

    if (l == 0)
        block[0][0] = scores[top * stride + left];
    block[0][l + 1] = scores[top * stride + left + l + 1];
    block[l + 1][0] = scores[(top + l + 1) * stride + left];
    for (uint y = 0; y < BLOCK; y++)
        match[y][l] = matches[(top + y) * side + left + l];
    barrier(CLK_LOCAL_MEM_FENCE);

    // The anti-diagonals of the block, one after another.
    for (int step = 0; step < 2 * BLOCK - 1; step++) {
        int y = step - (int)l;
        if (y >= 0 && y < BLOCK) {
            int matched = block[y][l] + match[y][l];
            int gap = max(block[y][l + 1], block[y + 1][l]) - penalty;
            block[y + 1][l + 1] = max(matched, gap);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    for (uint y = 0; y < BLOCK; y++)
        scores[(top + y + 1) * stride + left + l + 1] = block[y + 1][l + 1];
}

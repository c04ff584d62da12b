// Cooperative groups, votes, matches and reductions of a warp.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// out[i] = sum over the tile of 8 threads that thread i is in; most[i] = its largest.
extern "C" __global__ void tile_reduce(const int *in, int *out, int *most)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = cg::reduce(tile, in[i], cg::plus<int>());
    most[i] = cg::reduce(tile, in[i], cg::greater<int>());
}

// *odd += the odd elements, one atomic for those lanes of a warp that have one.
extern "C" __global__ void coalesced_count(int n, const int *in, int *odd, int *ranks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] % 2 != 0) {
        auto active = cg::coalesced_threads();
        ranks[i] = active.thread_rank();
        if (active.thread_rank() == 0)
            atomicAdd(odd, (int)active.size());
    }
}

// count[l] += how many elements have label l: lanes with equal labels find each other.
extern "C" __global__ void labeled_count(const int *label, int *count, int *sum)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto same = cg::labeled_partition(warp, label[i]);
    int total = cg::reduce(same, i, cg::plus<int>());
    if (same.thread_rank() == 0) {
        atomicAdd(&count[label[i]], (int)same.size());
        atomicAdd(&sum[label[i]], total);
    }
}

// One step of a wave on a ring of n cells, `steps` times, the whole grid in step.
extern "C" __global__ void grid_steps(int n, int steps, unsigned *a, unsigned *b)
{
    cg::grid_group grid = cg::this_grid();
    for (int s = 0; s < steps; ++s) {
        for (unsigned i = grid.thread_rank(); i < n; i += grid.size())
            b[i] = a[(i + n - 1) % n] + 3 * a[i] + a[(i + 1) % n];
        grid.sync();
        unsigned *t = a;
        a = b;
        b = t;
    }
}

// Votes and matches: eight words for each thread of a block of 64.
extern "C" __global__ void votes(const int *in, unsigned *out)
{
    int v = in[threadIdx.x], same;
    unsigned *o = out + 8 * threadIdx.x;
    o[0] = __any_sync(~0u, v == 3);
    o[1] = __all_sync(~0u, v < 7);
    o[2] = __ballot_sync(~0u, v & 1);
    o[3] = __match_any_sync(~0u, v);
    o[4] = __match_all_sync(~0u, v / 64, &same);
    o[5] = same;
    o[6] = __reduce_add_sync(~0u, v);
    o[7] = __reduce_xor_sync(~0u, (unsigned)v * 2654435761u);
}

// Block sum by shuffles of doubles; any block of a multiple of 32.
extern "C" __global__ void sum_f64(int n, const double *x, double *sum)
{
    __shared__ double partial[32];
    double v = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        v += x[i];
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        v = 0;
        for (int w = 0; w < blockDim.x / 32; ++w)
            v += partial[w];
        atomicAdd(sum, v);
    }
}

// *best = the largest value and, of equal ones, the first index, packed into 64 bits.
extern "C" __global__ void argmax(int n, const float *x, unsigned long long *best)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned bits = __float_as_uint(x[i]);
        bits = bits >> 31 ? ~bits : bits | 0x80000000u;
        atomicMax(best, (unsigned long long)bits << 32 | (unsigned)~i);
    }
}

// The last block to finish adds up what the others left.
extern "C" __global__ void last_block_sum(int n, const int *x, int *partial, unsigned *ticket, int *sum)
{
    __shared__ int mine;
    __shared__ bool last;
    if (threadIdx.x == 0)
        mine = 0;
    __syncthreads();
    int v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += x[i];
    atomicAdd(&mine, v);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = mine;
        __threadfence();
        last = atomicAdd(ticket, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; ++b)
            all += ((volatile int *)partial)[b];
        *sum = all;
    }
}

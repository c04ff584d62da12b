// Prefix sums, and what is built from them. Blocks of a multiple of 32 threads.

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// Exclusive sum of one block's elements; *total = their sum. A sweep up and down a tree in shared memory; n = 2 threads.
extern "C" __global__ void exclusive_scan(const int *in, int *out, int *total)
{
    extern __shared__ int tree[];
    int n = 2 * blockDim.x, t = threadIdx.x, step = 1;
    tree[2 * t] = in[2 * t];
    tree[2 * t + 1] = in[2 * t + 1];
    for (int d = n / 2; d > 0; d /= 2, step *= 2) {
        __syncthreads();
        if (t < d)
            tree[step * (2 * t + 2) - 1] += tree[step * (2 * t + 1) - 1];
    }
    if (t == 0) {
        *total = tree[n - 1];
        tree[n - 1] = 0;
    }
    for (int d = 1; d < n; d *= 2) {
        step /= 2;
        __syncthreads();
        if (t < d) {
            int left = tree[step * (2 * t + 1) - 1];
            tree[step * (2 * t + 1) - 1] = tree[step * (2 * t + 2) - 1];
            tree[step * (2 * t + 2) - 1] += left;
        }
    }
    __syncthreads();
    out[2 * t] = tree[2 * t];
    out[2 * t + 1] = tree[2 * t + 1];
}

// Inclusive sums that start again wherever head[i] is not 0; one warp, 32 elements.
extern "C" __global__ void segmented_scan(const int *head, const float *in, float *out)
{
    int lane = threadIdx.x;
    unsigned heads = __ballot_sync(~0u, head[lane] != 0);
    unsigned before = heads & (~0u >> (31 - lane));
    int first = before ? 31 - __clz(before) : 0;
    float v = in[lane];
    for (int step = 1; step < 32; step *= 2) {
        float left = __shfl_up_sync(~0u, v, step);
        if (lane - step >= first)
            v += left;
    }
    out[lane] = v;
}

// The same inclusive sum by a library: each tile of 16 threads scans its own.
extern "C" __global__ void tile_scan(const int *in, int *out)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = cg::inclusive_scan(tile, in[i]);
}

// out = the elements of in that are odd, in order; *count = how many. One block.
extern "C" __global__ void compact(int n, const int *in, int *out, int *count)
{
    __shared__ int start[33];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, done = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        int i = base + threadIdx.x;
        bool keep = i < n && in[i] % 2 != 0;
        unsigned kept = __ballot_sync(~0u, keep);
        if (lane == 0)
            start[warp + 1] = __popc(kept);
        __syncthreads();
        if (threadIdx.x == 0) {
            start[0] = done;
            for (int w = 0; w < warps; ++w)
                start[w + 1] += start[w];
        }
        __syncthreads();
        if (keep)
            out[start[warp] + __popc(kept & ((1u << lane) - 1))] = in[i];
        done = start[warps];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *count = done;
}

// Sum over a chain of blocks that look back at their neighbours' flags: an inclusive scan of any length in one pass.
extern "C" __global__ void look_back_scan(const unsigned *in, unsigned *out, volatile unsigned *prefix, unsigned *flag)
{
    __shared__ unsigned before;
    __shared__ unsigned sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = in[i];
    for (int step = 1; step < 32; step *= 2) {
        unsigned left = __shfl_up_sync(~0u, v, step);
        v += lane >= step ? left : 0;
    }
    if (lane == 31)
        sums[warp] = v;
    __syncthreads();
    for (int w = 0; w < warp; ++w)
        v += sums[w];
    if (threadIdx.x == blockDim.x - 1) {
        unsigned all = 0;
        if (blockIdx.x > 0) {
            while (atomicAdd(&flag[blockIdx.x - 1], 0) == 0)
                ;
            __threadfence();
            all = prefix[blockIdx.x - 1];
        }
        prefix[blockIdx.x] = all + v;
        __threadfence();
        atomicExch(&flag[blockIdx.x], 1);
        before = all;
    }
    __syncthreads();
    out[i] = before + v;
}

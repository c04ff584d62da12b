// Hopper: clusters with distributed shared memory, bulk and tensor copies.
// Target: sm_90a

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda.h>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

// Histogram of 4 * 64 bins, of which each block of a cluster of 4 keeps 64 in its shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_histogram(int n, const unsigned char *in, unsigned *bins)
{
    __shared__ unsigned own[64];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        own[i] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads())
        atomicAdd(cluster.map_shared_rank(&own[in[i] % 64], in[i] / 64), 1);
    cluster.sync();
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        bins[64 * cluster.block_rank() + i] = own[i];
}

// Each block reads its right neighbour's tile from that block's shared memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_swap(const int *in, int *out)
{
    __shared__ int tile[96];
    cg::cluster_group cluster = cg::this_cluster();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[i];
    cluster.sync();
    int *other = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
    out[i] = other[threadIdx.x] * 10 + tile[95 - threadIdx.x];
    cluster.sync();
}

// Doubles 1024 floats a block, brought in and out by bulk copies.
extern "C" __global__ void bulk_double(const float *in, float *out)
{
    __shared__ alignas(128) float tile[1024];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cuda::ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(tile, in + 1024 * blockIdx.x, cuda::aligned_size_t<16>(sizeof tile), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        tile[i] *= 2;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 1024 * blockIdx.x, tile, sizeof tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// out = in transposed, by boxes of 32 x 32 that a tensor map describes; zero outside.
extern "C" __global__ void tensor_transpose(const __grid_constant__ CUtensorMap map, int rows, int columns, int *out)
{
    __shared__ alignas(128) int tile[32][32];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::experimental::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, x, y, bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        if (x + i / 32 < columns && y + i % 32 < rows)
            out[(x + i / 32) * rows + y + i % 32] = tile[i % 32][i / 32];
}

// Adds of bf16, alone and in pairs, which are one instruction here.
extern "C" __global__ void bf16_atomics(__nv_bfloat16 *b, __nv_bfloat162 *b2)
{
    atomicAdd(b, __float2bfloat16(1.0f));
    atomicAdd(b2, __floats2bfloat162_rn(1.0f, -1.0f));
}

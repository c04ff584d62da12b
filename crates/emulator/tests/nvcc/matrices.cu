// Products on tensor cores, and asynchronous copies to shared memory. One warp unless said otherwise.

#include <mma.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#pragma nv_diag_suppress static_var_with_dynamic_init

using namespace nvcuda;

// c = a b for 16 x 16 tiles, `steps` of them along k; a row-major, b column-major.
extern "C" __global__ void wmma_f16(int k, const __half *a, const __half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + i, k);
        wmma::load_matrix_sync(fb, b + i, k);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

// c += a b, all of 32 x 8 or 8 x 32, in f16 throughout; a column-major, b row-major, in shared memory.
template <int M, int N> static __device__ void flat(const __half *a, const __half *b, __half *c)
{
    __shared__ __align__(32) __half sa[M * 16], sb[N * 16], sc[M * N];
    for (int i = threadIdx.x; i < M * 16; i += 32)
        sa[i] = a[i];
    for (int i = threadIdx.x; i < N * 16; i += 32)
        sb[i] = b[i];
    for (int i = threadIdx.x; i < M * N; i += 32)
        sc[i] = c[i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, M, N, 16, __half, wmma::col_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, 16, __half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, M, N, 16, __half> fc;
    wmma::load_matrix_sync(fa, sa, M);
    wmma::load_matrix_sync(fb, sb, N);
    wmma::load_matrix_sync(fc, sc, N, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, M, wmma::mem_col_major);
}

extern "C" __global__ void wmma_tall(const __half *a, const __half *b, __half *c) { flat<32, 8>(a, b, c); }

extern "C" __global__ void wmma_wide(const __half *a, const __half *b, __half *c) { flat<8, 32>(a, b, c); }

extern "C" __global__ void wmma_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc);
    // Every element is at some thread's, whoever it is.
    for (int i = 0; i < fc.num_elements; ++i)
        fc.x[i] = 2 * fc.x[i] + 1;
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

extern "C" __global__ void wmma_tf32(const float *a, const float *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
    wmma::load_matrix_sync(fa, a, 8);
    wmma::load_matrix_sync(fb, b, 8);
    for (int i = 0; i < fa.num_elements; ++i)
        fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
    for (int i = 0; i < fb.num_elements; ++i)
        fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
    wmma::fill_fragment(fc, 0.5f);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

extern "C" __global__ void wmma_s8(const signed char *a, const signed char *b, int *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::fill_fragment(fc, -3);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

// c = a b, a 16 x 16 and b 16 x 8 of bf16, row-major, by ldmatrix and mma.
extern "C" __global__ void mma_bf16(const uint4 *a, const uint4 *b, float *c)
{
    __shared__ uint4 sa[32], sb[16];
    int lane = threadIdx.x;
    sa[lane] = a[lane];
    if (lane < 16)
        sb[lane] = b[lane];
    __syncwarp();
    unsigned ra[4], rb[2];
    unsigned pa = __cvta_generic_to_shared(&sa[lane % 16 * 2 + lane / 16]);
    unsigned pb = __cvta_generic_to_shared(&sb[lane % 16]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb) : "memory");
    float d[4];
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "f"(0.0f));
    for (int i = 0; i < 4; ++i)
        c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}

// out[b] = sum over the tiles of block b's row, copied two stages ahead by cp.async. Blocks of 64 threads.
extern "C" __global__ void staged_sum(int tiles, const float4 *in, float4 *out)
{
    __shared__ float4 stage[3][64];
    int t = threadIdx.x;
    in += (size_t)blockIdx.x * tiles * 64;
    for (int s = 0; s < 2; ++s) {
        if (s < tiles)
            __pipeline_memcpy_async(&stage[s][t], &in[s * 64 + t], 16);
        __pipeline_commit();
    }
    float4 sum = {0, 0, 0, 0};
    for (int i = 0; i < tiles; ++i) {
        if (i + 2 < tiles)
            __pipeline_memcpy_async(&stage[(i + 2) % 3][t], &in[(i + 2) * 64 + t], 16);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        // Another thread's copy, so that the barrier counts.
        float4 v = stage[i % 3][(t + 1) % 64];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
        __syncthreads();
    }
    out[blockIdx.x * 64 + t] = sum;
}

// The same by cuda::pipeline, whose stages the block shares.
extern "C" __global__ void pipelined_sum(int tiles, const int *in, int *out)
{
    namespace cg = cooperative_groups;
    __shared__ int stage[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int i = 0; i <= tiles; ++i) {
        if (i < tiles) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[i % 2], in + i * 128, cuda::aligned_size_t<16>(512), pipe);
            pipe.producer_commit();
        }
        if (i > 0) {
            pipe.consumer_wait();
            sum += stage[(i - 1) % 2][127 - threadIdx.x];
            pipe.consumer_release();
        }
    }
    out[threadIdx.x] = sum;
}

// Two halves of a block pass a token round by cuda::barrier, arriving and waiting apart.
extern "C" __global__ void split_barrier(int rounds, int *out)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier bar;
    __shared__ int cell[64];
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    int v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) {
        cell[threadIdx.x] = v;
        auto token = bar.arrive();
        int own = v * 3;
        bar.wait(std::move(token));
        v = own + cell[(threadIdx.x + 1) % 64];
        bar.arrive_and_wait();
    }
    out[threadIdx.x] = v;
}

// Locks, flags, and atomics of many types.

#include <cuda_fp16.h>
#include <cuda/atomic>

// Every thread takes the same lock, those of one warp too, and counts without an atomic.
extern "C" __global__ void spin_lock(int *lock, int *count, int rounds)
{
    for (int r = 0; r < rounds; ++r) {
        bool done = false;
        while (!done) {
            if (atomicCAS(lock, 0, 1) == 0) {
                __threadfence();
                *(volatile int *)count = *(volatile int *)count + 1;
                __threadfence();
                atomicExch(lock, 0);
                done = true;
            }
        }
    }
}

// A lock that blocks take in the order in which they asked; order[k] = the k-th ticket's block plus one.
extern "C" __global__ void ticket_lock(unsigned *next, unsigned *serving, unsigned *count, unsigned *order)
{
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> tickets(*next), now(*serving);
    if (threadIdx.x == 0) {
        unsigned mine = tickets.fetch_add(1, cuda::std::memory_order_relaxed);
        while (now.load(cuda::std::memory_order_acquire) != mine)
            ;
        unsigned k = *count;
        order[k] = blockIdx.x + 1;
        *count = k + 1;
        now.store(mine + 1, cuda::std::memory_order_release);
    }
}

// Block 0 produces `rounds` values one after another in one slot; block 1 consumes them.
extern "C" __global__ void produce_consume(int rounds, int *slot, int *full, int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(*full);
    if (threadIdx.x != 0)
        return;
    for (int r = 0; r < rounds; ++r) {
        if (blockIdx.x == 0) {
            while (flag.load(cuda::std::memory_order_acquire) != 0)
                ;
            *slot = r * r + 1;
            flag.store(1, cuda::std::memory_order_release);
        } else {
            while (flag.load(cuda::std::memory_order_acquire) != 1)
                ;
            out[r] = *slot;
            flag.store(0, cuda::std::memory_order_release);
        }
    }
}

// One of each 32-bit and 64-bit atomic on its own word, by every thread i.
extern "C" __global__ void atomics(int *a, unsigned *u, long long *l, unsigned long long *x, float *f, double *d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&a[0], i);
    atomicSub(&a[1], i);
    atomicMin(&a[2], -i);
    atomicMax(&a[3], i);
    atomicAnd(&u[0], ~(1u << i % 32));
    atomicOr(&u[1], 1u << i % 32);
    atomicXor(&u[2], i * 2654435761u);
    atomicInc(&u[3], 16);
    atomicDec(&u[4], 10);
    atomicMin(&l[0], (long long)-i << 33);
    atomicMax(&l[1], (long long)i << 33);
    atomicAdd(&x[0], (unsigned long long)i << 20);
    atomicXor(&x[1], (unsigned long long)i << 30 | i);
    atomicAdd(&f[0], (float)i);
    atomicAdd(&d[0], i * 0.5);
}

// Adds of f16, alone and in pairs; of small integers, so exact.
extern "C" __global__ void half_atomics(__half *h, __half2 *h2)
{
    atomicAdd(h, __float2half(1.0f));
    atomicAdd(h2, __floats2half2_rn(1.0f, 2.0f));
}

// A multiplication that no atomic has, by compare-and-swap; and f32 max by one on its bits.
extern "C" __global__ void swap_loop(const float *in, float *product, float *most)
{
    float v = in[threadIdx.x];
    unsigned *p = (unsigned *)product, old = *(volatile unsigned *)p, seen;
    do {
        seen = old;
        old = atomicCAS(p, seen, __float_as_uint(__uint_as_float(seen) * v));
    } while (old != seen);
    if (v >= 0)
        atomicMax((int *)most, __float_as_int(v));
    else
        atomicMin((unsigned *)most, __float_as_uint(v));
}

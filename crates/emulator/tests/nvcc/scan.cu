// out[i] = in[b] + ... + in[i], where b is the first element of i's block:
// an inclusive scan of each block's elements, sums modulo 2^32. One thread an
// element; blocks of 32 to 1024 threads, a multiple of 32; grid covers n.

static __device__ unsigned int warp_scan(unsigned int v, int lane)
{
    for (int step = 1; step < 32; step *= 2) {
        unsigned int left = __shfl_up_sync(0xffffffffu, v, step);
        if (lane >= step)
            v += left;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(1024) scan(int n, const unsigned int *in, unsigned int *out)
{
    __shared__ unsigned int total[32];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    unsigned int v = warp_scan(i < n ? in[i] : 0, lane);
    if (lane == 31)
        total[warp] = v;
    __syncthreads();

    if (warp == 0) {
        unsigned int t = lane < blockDim.x / 32 ? total[lane] : 0;
        total[lane] = warp_scan(t, lane);
    }
    __syncthreads();

    if (warp > 0)
        v += total[warp - 1];
    if (i < n)
        out[i] = v;
}

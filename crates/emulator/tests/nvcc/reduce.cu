// *sum += x[0] + ... + x[n-1]. Blocks of 32 to 1024 threads, a multiple of 32;
// any grid. Warps reduce by shuffles, the block through shared memory, blocks
// by one atomic add each, so the order of the last additions is open.

static __device__ float warp_sum(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_down_sync(0xffffffffu, v, step);
    return v;
}

extern "C" __global__ void reduce(int n, const float *x, float *sum)
{
    __shared__ float partial[32];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int warps = blockDim.x / 32;

    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += x[i];

    v = warp_sum(v);
    if (lane == 0)
        partial[warp] = v;
    __syncthreads();

    if (warp == 0) {
        v = warp_sum(lane < warps ? partial[lane] : 0.0f);
        if (lane == 0)
            atomicAdd(sum, v);
    }
}

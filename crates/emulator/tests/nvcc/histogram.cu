// bins[b] += how often byte b occurs in data[0..n]. Any grid, any block. Each
// block counts in shared memory, then adds its counts to the 256 global bins.

extern "C" __global__ void histogram(int n, const unsigned char *data, unsigned int *bins)
{
    __shared__ unsigned int count[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        count[b] = 0;
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&count[data[i]], 1u);
    __syncthreads();

    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (count[b] != 0)
            atomicAdd(&bins[b], count[b]);
}

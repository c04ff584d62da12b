// Softmax of each row of a rows x cols matrix of bf16, computed in f32. One
// warp a row; block (32, w), grid ceil(rows / w), any w from 1 to 32.

#include <cuda_bf16.h>

extern "C" __global__ void softmax(int rows, int cols, const __nv_bfloat16 *in, __nv_bfloat16 *out)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    in += (size_t)row * cols;
    out += (size_t)row * cols;

    float top = -INFINITY;
#pragma unroll 1
    for (int c = threadIdx.x; c < cols; c += 32)
        top = fmaxf(top, __bfloat162float(in[c]));
    for (int step = 16; step > 0; step /= 2)
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));

    float sum = 0.0f;
#pragma unroll 1
    for (int c = threadIdx.x; c < cols; c += 32)
        sum += expf(__bfloat162float(in[c]) - top);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);

#pragma unroll 1
    for (int c = threadIdx.x; c < cols; c += 32)
        out[c] = __float2bfloat16_rn(expf(__bfloat162float(in[c]) - top) / sum);
}

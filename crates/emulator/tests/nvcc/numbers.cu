// Arithmetic of many types, and functions of the mathematics library, inlined.

#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

// Each f32 to e4m3 and e5m2 and back: codes in two bytes, values in two floats.
extern "C" __global__ void fp8(int n, const float *in, unsigned char *codes, float *values)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __nv_fp8_e4m3 a(in[i]);
    __nv_fp8_e5m2 b(in[i]);
    codes[2 * i] = a.__x;
    codes[2 * i + 1] = b.__x;
    values[2 * i] = float(a);
    values[2 * i + 1] = float(b);
}

// y = a x + y in pairs of f16, and sums, products, comparisons of bf16.
extern "C" __global__ void halves(const __half2 *x, __half2 *y, const __nv_bfloat162 *u, __nv_bfloat162 *v)
{
    int i = threadIdx.x;
    y[i] = __hfma2(__floats2half2_rn(1.5f, -0.25f), x[i], y[i]);
    __nv_bfloat162 m = __hmax2(u[i], v[i]);
    v[i] = __hadd2(__hmul2(u[i], v[i]), m);
}

// Five functions of doubles.
extern "C" __global__ void functions(int n, const double *x, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double *o = out + 6 * i;
    o[0] = exp(x[i]);
    o[1] = log(fabs(x[i]));
    o[2] = sin(x[i]);
    o[3] = sqrt(fabs(x[i]));
    o[4] = 1.0 / x[i];
    o[5] = pow(fabs(x[i]), 0.3);
}

// The same of floats.
extern "C" __global__ void functions_f32(int n, const float *x, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float *o = out + 7 * i;
    o[0] = expf(x[i]);
    o[1] = logf(fabsf(x[i]));
    o[2] = sinf(x[i]);
    o[3] = tanhf(x[i]);
    o[4] = erff(x[i]);
    o[5] = rsqrtf(fabsf(x[i]));
    o[6] = atan2f(x[i], 0.7f);
}

// Four words of Philox-4x32-10 a thread, from its index and a key.
extern "C" __global__ void philox(unsigned key0, unsigned key1, uint4 *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 c = {i, 0, 0, 0};
    for (int r = 0; r < 10; ++r) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = {h1 ^ c.y ^ key0, l1, h0 ^ c.w ^ key1, l0};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    out[i] = c;
}

// How long z -> z z + c stays within 2, for each point of a plane of w x h.
extern "C" __global__ void mandelbrot(int w, int h, int limit, int *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    float cr = 3.0f * x / w - 2.0f, ci = 2.0f * y / h - 1.0f, zr = 0, zi = 0;
    int n = 0;
    while (n < limit && __fadd_rn(__fmul_rn(zr, zr), __fmul_rn(zi, zi)) <= 4) {
        float t = __fadd_rn(__fsub_rn(__fmul_rn(zr, zr), __fmul_rn(zi, zi)), cr);
        zi = __fmaf_rn(2 * zr, zi, ci);
        zr = t;
        ++n;
    }
    out[y * w + x] = n;
}

// Accelerations of n bodies by all others; tiles of the block's size in shared memory.
extern "C" __global__ void n_body(int n, const float4 *body, float4 *out)
{
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? body[i] : float4{0, 0, 0, 0};
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? body[j] : float4{0, 0, 0, 0};
        __syncthreads();
        for (int k = 0; k < blockDim.x; ++k) {
            float4 b = tile[k];
            float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = b.w * inverse * inverse * inverse;
            ax += dx * s, ay += dy * s, az += dz * s;
        }
        __syncthreads();
    }
    if (i < n)
        out[i] = {ax, ay, az, 0};
}

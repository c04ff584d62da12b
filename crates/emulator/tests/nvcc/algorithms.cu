// Sorting, merging, searching, stencils, sparse and frequency-domain work.

// Sorts blocks of 2 * threads keys, a power of two, by a bitonic network in shared memory.
extern "C" __global__ void bitonic_sort(unsigned *keys)
{
    extern __shared__ unsigned s[];
    int n = 2 * blockDim.x, t = threadIdx.x;
    keys += (size_t)blockIdx.x * n;
    s[t] = keys[t];
    s[t + n / 2] = keys[t + n / 2];
    for (int size = 2; size <= n; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            int i = 2 * t - (t & (step - 1)), j = i + step;
            bool up = (i & size) == 0;
            unsigned a = s[i], b = s[j];
            if ((a > b) == up) {
                s[i] = b;
                s[j] = a;
            }
        }
    __syncthreads();
    keys[t] = s[t];
    keys[t + n / 2] = s[t + n / 2];
}

// One pass of a radix sort on 4 bits, stable, one block of 256 threads and as many keys.
extern "C" __global__ void radix_pass(int shift, const unsigned *in, unsigned *out)
{
    __shared__ unsigned count[16][8], start[16];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned key = in[threadIdx.x], digit = key >> shift & 15;
    for (int d = threadIdx.x; d < 128; d += 256)
        count[d / 8][d % 8] = 0;
    __syncthreads();
    unsigned same = __match_any_sync(~0u, digit), rank = __popc(same & ((1u << lane) - 1));
    if (rank == 0)
        count[digit][warp] = __popc(same);
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned sum = 0;
        for (int d = 0; d < 16; ++d) {
            start[d] = sum;
            for (int w = 0; w < 8; ++w)
                sum += count[d][w];
        }
    }
    __syncthreads();
    for (int w = 0; w < warp; ++w)
        rank += count[digit][w];
    out[start[digit] + rank] = key;
}

// Merges two sorted runs of n keys; each thread finds its own key's place in the other run.
extern "C" __global__ void merge(int n, const int *a, const int *b, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 2 * n)
        return;
    bool first = i < n;
    const int *other = first ? b : a;
    int key = first ? a[i] : b[i - n], low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (other[middle] < key || (!first && other[middle] == key))
            low = middle + 1;
        else
            high = middle;
    }
    out[(first ? i : i - n) + low] = key;
}

// *first = the least place at which `word` starts in `text`; *count = how many places.
extern "C" __global__ void search(int n, const char *text, int m, const char *word, int *first, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool found = i + m <= n;
    for (int k = 0; found && k < m; ++k)
        found = text[i + k] == word[k];
    int all = __syncthreads_count(found);
    if (found)
        atomicMin(first, i);
    if (threadIdx.x == 0)
        atomicAdd(count, all);
}

// y = A x, A in compressed rows, one warp a row.
extern "C" __global__ void spmv(int rows, const int *start, const int *column, const float *value, const float *x, float *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int k = start[row] + lane; k < start[row + 1]; k += 32)
        sum += value[k] * x[column[k]];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0)
        y[row] = sum;
}

__constant__ float taps[9] = {1, -2, 3, -4, 5, -6, 7, -8, 9};

// 3 x 3 convolution of an h x w image, zero outside; tiles of 16 x 16 with a halo.
extern "C" __global__ void convolution(int h, int w, const float *in, float *out)
{
    __shared__ float tile[18][18];
    int x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 16 - 1;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
        int x = x0 + i % 18, y = y0 + i / 18;
        tile[i / 18][i % 18] = x >= 0 && x < w && y >= 0 && y < h ? in[y * w + x] : 0;
    }
    __syncthreads();
    int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y;
    if (x >= w || y >= h)
        return;
    float sum = 0;
    for (int k = 0; k < 9; ++k)
        sum += taps[k] * tile[threadIdx.y + k / 3][threadIdx.x + k % 3];
    out[y * w + x] = sum;
}

// One generation of Life on a torus, a bit a cell, 32 cells a word.
extern "C" __global__ void life(int h, int words, const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= h * words)
        return;
    int y = i / words, w = i % words;
    unsigned ones = 0, twos = 0, fours = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        const unsigned *row = in + (y + dy + h) % h * words;
        unsigned here = row[w], before = row[(w + words - 1) % words], after = row[(w + 1) % words];
        unsigned three[3] = {__funnelshift_l(before, here, 1), dy == 0 ? 0 : here, __funnelshift_r(here, after, 1)};
        for (unsigned x : three) {
            unsigned carry = ones & x;
            ones ^= x;
            fours |= twos & carry;
            twos ^= carry;
        }
    }
    out[i] = twos & ~fours & (ones | in[i]);
}

// Fourier transform of 2 * threads complex numbers in shared memory, a power of two.
extern "C" __global__ void fft(float2 *data)
{
    extern __shared__ float2 z[];
    int n = 2 * blockDim.x, log = 31 - __clz(n);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        z[__brev(i) >> (32 - log)] = data[i];
    for (int half = 1; half < n; half *= 2) {
        __syncthreads();
        int k = threadIdx.x & (half - 1), i = 2 * threadIdx.x - k;
        float s, c;
        sincospif(-(float)k / half, &s, &c);
        float2 a = z[i], b = z[i + half];
        float2 t = {b.x * c - b.y * s, b.x * s + b.y * c};
        z[i] = {a.x + t.x, a.y + t.y};
        z[i + half] = {a.x - t.x, a.y - t.y};
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        data[i] = z[i];
}

// Rows of n to mean 0 and variance 1, then scale and shift; one block a row.
extern "C" __global__ void layer_norm(int n, const float *x, const float *scale, const float *shift, float *y)
{
    __shared__ float2 partial[32];
    x += (size_t)blockIdx.x * n;
    y += (size_t)blockIdx.x * n;
    float2 v = {0, 0};
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        v.x += x[i], v.y += x[i] * x[i];
    for (int step = 16; step > 0; step /= 2) {
        v.x += __shfl_xor_sync(~0u, v.x, step);
        v.y += __shfl_xor_sync(~0u, v.y, step);
    }
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    __syncthreads();
    v = {0, 0};
    for (int w = 0; w < blockDim.x / 32; ++w)
        v.x += partial[w].x, v.y += partial[w].y;
    float mean = v.x / n, factor = rsqrtf(v.y / n - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[i] = (x[i] - mean) * factor * scale[i] + shift[i];
}

// Softmax of rows of n in one reading: each thread keeps a maximum and the sum scaled by it. One warp a row.
extern "C" __global__ void online_softmax(int n, const float *x, float *y)
{
    x += (size_t)blockIdx.x * n;
    y += (size_t)blockIdx.x * n;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        float next = fmaxf(top, x[i]);
        sum = sum * __expf(top - next) + __expf(x[i] - next);
        top = next;
    }
    for (int step = 16; step > 0; step /= 2) {
        float t = __shfl_xor_sync(~0u, top, step), s = __shfl_xor_sync(~0u, sum, step), most = fmaxf(top, t);
        sum = top == -INFINITY ? s : t == -INFINITY ? sum : sum * __expf(top - most) + s * __expf(t - most);
        top = most;
    }
    for (int i = threadIdx.x; i < n; i += 32)
        y[i] = __expf(x[i] - top) / sum;
}

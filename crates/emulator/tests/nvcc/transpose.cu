// out[c][r] = in[r][c] for a rows x cols matrix of f32. Block (32, 8), grid
// (ceil(cols / 32), ceil(rows / 32)). The tile's 33rd column keeps the reads
// of a shared-memory column in different banks.

extern "C" __global__ void transpose(int rows, int cols, const float *__restrict__ in, float *__restrict__ out)
{
    __shared__ float tile[32][33];

    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (r + i < rows && c < cols)
            tile[threadIdx.y + i][threadIdx.x] = in[(size_t)(r + i) * cols + c];
    __syncthreads();

    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (r + i < cols && c < rows)
            out[(size_t)(r + i) * rows + c] = tile[threadIdx.x][threadIdx.y + i];
}

// steps[i] = how many steps the Collatz walk takes from start[i] to 1, at most
// `limit`; start[i] = 0 takes `limit`. One thread an element; any block, grid
// covers n. Every lane of a warp leaves the loop at its own time. Then
// longest[w] = the largest steps[i] of warp w of the grid, and holders[w] = the
// mask of its lanes that have it. Blocks of a multiple of 32 threads.

extern "C" __global__ void collatz(int n, int limit, const unsigned int *start, int *steps,
                                   int *longest, unsigned int *holders)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = -1;
    if (i < n) {
        unsigned long long x = start[i];
        count = 0;
        while (x != 1 && count < limit) {
            if (x % 2 == 0)
                x /= 2;
            else
                x = 3 * x + 1;
            ++count;
        }
        steps[i] = count;
    }

    int most = __reduce_max_sync(0xffffffffu, count);
    unsigned int who = __ballot_sync(0xffffffffu, count == most);
    if (threadIdx.x % 32 == 0) {
        longest[i / 32] = most;
        holders[i / 32] = who;
    }
}

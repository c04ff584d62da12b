// What ordinary C++ needs of a machine: calls, tables, local arrays, switches, printing.

#include <stdio.h>

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ double weights[3][2] = {{0.5, 0.25}, {2.0, -1.0}, {8.0, 3.5}};
__device__ unsigned counter = 40;

static __device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

extern "C" __global__ void recursion(const unsigned *m, const unsigned *n, unsigned *out)
{
    int i = threadIdx.x;
    out[i] = ackermann(m[i], n[i]);
}

struct Pair {
    long long a;
    float b;
    short c;
};

static __device__ __noinline__ Pair twist(Pair p, int k)
{
    Pair q = {p.a * k + p.c, p.b + k, (short)(p.c - k)};
    return q;
}

// Structures by value, as parameters of kernels and functions, and as results.
extern "C" __global__ void structures(Pair first, Pair *out)
{
    Pair p = first;
    for (int k = 0; k <= threadIdx.x % 5; ++k)
        p = twist(p, k + threadIdx.x);
    out[threadIdx.x] = p;
}

// A stack machine: a switch that the compiler makes a jump table of, and an array indexed at run time.
extern "C" __global__ void stack_machine(const unsigned char *code, int *out)
{
    int stack[16], top = 0, pc = 0;
    int x = threadIdx.x;
    for (;;) {
        int op = code[pc++];
        switch (op) {
        case 0: stack[top++] = x; break;
        case 1: stack[top++] = code[pc++]; break;
        case 2: --top; stack[top - 1] += stack[top]; break;
        case 3: --top; stack[top - 1] *= stack[top]; break;
        case 4: stack[top - 1] = -stack[top - 1]; break;
        case 5: stack[top] = stack[top - 1]; ++top; break;
        case 6: --top; if (stack[top] > 0) pc += code[pc] + 1; else ++pc; break;
        case 7: { int t = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = t; break; }
        case 8: stack[top - 1] ^= 0x55; break;
        case 9: stack[top - 1] >>= 1; break;
        default: out[threadIdx.x] = stack[top - 1]; return;
        }
    }
}

// An array on the thread's own stack, sorted by insertion.
extern "C" __global__ void local_sort(int n, const int *in, int *out)
{
    int a[24];
    for (int i = 0; i < n; ++i)
        a[i] = in[n * threadIdx.x + i];
    for (int i = 1; i < n; ++i) {
        int v = a[i], j = i;
        for (; j > 0 && a[j - 1] > v; --j)
            a[j] = a[j - 1];
        a[j] = v;
    }
    for (int i = 0; i < n; ++i)
        out[n * threadIdx.x + i] = a[i];
}

extern "C" __global__ void constants(const int *which, double *out, unsigned *tickets)
{
    int i = threadIdx.x, w = which[i];
    out[i] = primes[w % 8] * weights[w % 3][w % 2];
    tickets[i] = atomicAdd(&counter, 1);
}

extern "C" __global__ void print(int n, float x)
{
    if (threadIdx.x < n)
        printf("thread %d of %s: %.3f, %llu, %5x|\n", threadIdx.x, "block", x * threadIdx.x, 1ull << 40, 255u);
}

// Quotients and remainders of 64-bit and 32-bit integers, with and without sign.
extern "C" __global__ void division(const long long *a, const long long *b, long long *out)
{
    int i = threadIdx.x;
    long long *o = out + 8 * i;
    o[0] = a[i] / b[i];
    o[1] = a[i] % b[i];
    o[2] = (unsigned long long)a[i] / (unsigned long long)b[i];
    o[3] = (unsigned long long)a[i] % (unsigned long long)b[i];
    int x = (int)a[i], y = (int)b[i] | 1;
    o[4] = x == (int)0x80000000 ? 0 : x / y;
    o[5] = (unsigned)x % (unsigned)y;
    o[6] = __mul64hi(a[i], b[i]);
    o[7] = a[i] / 7 + (unsigned)x / 10;
}

// Bit tricks.
extern "C" __global__ void bits(const unsigned *in, unsigned *out)
{
    unsigned x = in[threadIdx.x], *o = out + 8 * threadIdx.x;
    o[0] = __popc(x);
    o[1] = __clz(x);
    o[2] = __brev(x);
    o[3] = __ffs(x);
    o[4] = __byte_perm(x, ~x, 0x3715);
    o[5] = __funnelshift_l(x, x * 3, x % 40);
    o[6] = __vadd4(x, 0x80ff01fe);
    o[7] = __dp4a((int)x, 0x01ff7f80, 5);
}

//! What stands below the options in `--help`: examples, and what the exit code says.

/// `warpsmith --help`.
pub(crate) const ALL: &str = "\
Begin with:
  warpsmith doctor                                        what is here, and what is missing
  warpsmith run softmax --random 64x4096                  a kernel, its result checked
  warpsmith explain gemm --shape 4096x4096x4096 --chip b200
  warpsmith help COMMAND                                  options and examples of a command

Exit codes: 0 right; 1 a wrong result or a finding of `run`, or something that `doctor` calls wrong; 2 bad input; 3 a device
that failed, or a sanitizer's error in `emulate` or `bench`.";

/// `warpsmith run`.
pub(crate) const RUN: &str = "\
Examples:
  warpsmith run softmax --input examples/data/logits.safetensors
  warpsmith run rms_norm --input examples/data/hidden.safetensors --tensor hidden --weight-tensor weight
  warpsmith run softmax --random 32768x4096 --dtype bf16 --device cuda
  warpsmith run gemm --random 256x512x128 --device emulated
  warpsmith run softmax --random 64x4096 --output y.npy

gemm is c = x · weightᵀ, as a linear layer has it: x is (m, k), the weight (n, k).
On a card it is timed beside a copy of as many bytes; on the emulator the sanitizer checks every access.

Exit codes: 0 the result is within the tolerance that the report states; 1 it is not, or the sanitizer found an error; 2 bad
input; 3 the device failed.";

/// `warpsmith bench`.
pub(crate) const BENCH: &str = "\
Examples:
  warpsmith bench rows --json today.json --svg rows.svg
  warpsmith bench rows --compare yesterday.json
  warpsmith bench softmax --shape 32768x4096,32768x8192 --dtype bf16,f32
  warpsmith bench softmax --shape 32768x8192 --plan threads_per_row=256,threads_per_row=512
  warpsmith bench softmax --shape 32x8192 --plan all --device emulated
  warpsmith bench all --device emulated

On a card: medians with a cold level-two cache, beside a copy of as many bytes measured the same way in the same run (for
matrix products: beside matrix instructions alone, with no traffic of memory). Kernels below 50 µs are replayed as a graph
of several launches, each on memory of its own. On the emulator there is no clock: what is printed are counts of
instructions and bytes, the same in each run.

Suites: rows is softmax, normalisations and cross-entropy over lengths of rows, gradients is theirs (those of normalisations:
of their input), all is both and matrix products.

Exit codes: 0 measured, whatever --compare shows; 2 bad input, or a file that can not be read or written; 3 the device failed,
or the sanitizer found an error.";

/// `warpsmith explain`.
pub(crate) const EXPLAIN: &str = "\
Examples:
  warpsmith explain softmax --shape 32768x4096
  warpsmith explain rms_norm --shape 8192x49152 --dtype f32 --chip b200
  warpsmith explain gemm --shape 4096x4096x4096 --target sm_80
  warpsmith explain softmax --shape 32768x4096 --align 2

An operator is a list of implementations, the most specialised first; a call takes the first that accepts it. Needs no card;
registers are shown where ptxas is found.

Exit codes: 0 an implementation takes the call; 2 none does, or the call is wrong.";

/// `warpsmith inspect`.
pub(crate) const INSPECT: &str = "\
Examples:
  warpsmith inspect softmax --dtype bf16 --dim 4096 --ptx
  warpsmith inspect rms_norm --dim 8192 --sass --source --target sm_100a
  warpsmith inspect gemm --resources

Exit codes: 0 shown; 2 bad input, or a tool that is not found.";

/// `warpsmith emulate`.
pub(crate) const EMULATE: &str = "\
An argument is a tensor, a scalar or a file, one for each parameter of the kernel, in order:
  --arg x:f32[1024]=random       random, random:SEED, zeros, iota, a number, or poison: nothing (the default)
  --arg n:u32=1024               f64 f32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u64 u32 u16 u8
  --arg y:y.npy                  also .safetensors; as f32[64,128]=y.npy its dtype and extents are checked
The name before the colon is for reports and --out; without it, the parameter's is taken.

Example:
  warpsmith emulate crates/emulator/tests/nvcc/saxpy.ptx --grid 8 --block 128 \\
    --arg n:i32=1000 --arg a:f32=1.5 --arg x:f32[1000]=random --arg y:f32[1000]=iota --out y=y.npy

Exit code: 3 when the sanitizer found an error, 2 for bad input, else 0.";

/// `warpsmith layout`.
pub(crate) const LAYOUT: &str = "\
Examples:
  warpsmith layout '(4,8):(8,1)'
  warpsmith layout --tv '(4,8):(8,1)' '(2,2):(2,1)' --svg threads.svg
  warpsmith layout --compose '(4,6,8,10):(2,3,5,7)' 6:12
  warpsmith layout --divide '(8,16):(16,1)' '<4,8>'
  warpsmith layout --swizzle 3,3,3 '(8,64):(64,1)' --svg banks.svg

Exit codes: 0 shown; 2 bad input.";

/// `warpsmith doctor`.
pub(crate) const DOCTOR: &str = "\
Examples:
  warpsmith doctor
  warpsmith doctor --json

Nothing needs to be here: without a card kernels run on the emulator. What is missing is said with its cost. The compile
cache is opened as the first kernel would, and WARPSMITH_ variables are said with what they do.

Exit codes: 0 what is set up works; 1 something does not (lines with `wrong`): a variable with a value that means nothing, a
tool that is not where its variable says, a driver or a cache that can not be used.";

/// `warpsmith completions`.
pub(crate) const COMPLETIONS: &str = "\
Examples:
  warpsmith completions bash > ~/.local/share/bash-completion/completions/warpsmith
  warpsmith completions zsh > ~/.zfunc/_warpsmith
  warpsmith completions fish > ~/.config/fish/completions/warpsmith.fish

Exit code: 0.";

/// `warpsmith compile`.
pub(crate) const COMPILE: &str = "\
Examples:
  warpsmith compile --list kernels.txt --target sm_90a,sm_100a --output model.bundle
  warpsmith compile 'softmax dtype=bf16 dim=1024..8192*2' --output rows.bundle

A line names an operator, its dtype and its extents: numbers, 1024..8192:1024 (each 1024th), 128..4096*2 (doubled each
time), with commas between:
  rms_norm dtype=bf16 dim=4096,8192 weight=none    also weight=f32, output=f32, in_place=yes
  softmax  dtype=f32  dim=1000
  gemm     dtype=bf16 m=1..4096*2 n=4096 k=4096

Needs no card. With ptxas the bundle holds machine code, and a process with WARPSMITH_BUNDLE set to its path assembles none
of it; without ptxas it holds PTX, and says so.

Exit codes: 0 the bundle is written; 2 a line is wrong, a target has none of an operator, or the file can not be written.";

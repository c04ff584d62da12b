#!/bin/sh
# Compiles every .cu file beside this script to PTX, with nvcc from PyPI.
#
#   make_ptx.sh [DIR]        DIR (default target/nvcc) gets a virtual
#                            environment with the compiler, about 400 MB
#
# Needs Python 3 with venv and a C++ compiler; no GPU, no driver, no root.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
dir=${1:-$here/../../../../target/nvcc}
mkdir -p "$dir"
dir=$(CDPATH= cd -- "$dir" && pwd)

if [ ! -x "$dir/venv/bin/pip" ]; then
    "${PYTHON:-python3}" -m venv "$dir/venv"
fi
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    nvidia-cuda-nvcc==13.0.88 \
    nvidia-cuda-crt==13.0.88 \
    nvidia-nvvm==13.0.88 \
    nvidia-cuda-runtime==13.0.88 \
    nvidia-cuda-cccl==13.0.85

nvcc=$(find "$dir/venv/lib" -path '*/nvidia/*/bin/nvcc' -type f | head -n 1)
cd "$here"
for source in *.cu; do
    echo "$source"
    target=$(sed -n 's|^// Target: ||p' "$source")
    "$nvcc" -ptx -arch="${target:-sm_80}" -O3 -o "${source%.cu}.ptx" "$source"
done

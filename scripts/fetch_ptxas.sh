#!/bin/sh
# Fetches NVIDIA's assembler (ptxas) and disassembler (nvdisasm) from PyPI.
#
#   scripts/fetch_ptxas.sh [DIR]        DIR defaults to target/ptxas
#
# Needs Linux (x86-64 or arm64) and Python 3 with venv; no GPU, no driver, no
# root. The wheels go into a virtual environment in DIR, and DIR/ptxas and
# DIR/nvdisasm link to the programs. The last line on stdout is the path of
# ptxas.
#
# Both programs are under NVIDIA's own licence: use them, do not redistribute
# them. Nothing here is needed to build or run the project; ptxas serves to
# check the PTX that we print.
set -eu

PTXAS_VERSION=13.5.37
NVDISASM_VERSION=13.5.37

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
dir=${1:-$root/target/ptxas}
mkdir -p "$dir"
dir=$(CDPATH= cd -- "$dir" && pwd)

if [ ! -x "$dir/venv/bin/pip" ]; then
    "${PYTHON:-python3}" -m venv "$dir/venv" >&2
fi
# --no-deps: the compiler half of the toolkit is not needed to assemble.
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    "nvidia-cuda-nvcc==$PTXAS_VERSION" \
    "nvidia-cuda-nvdisasm==$NVDISASM_VERSION" >&2

for tool in ptxas nvdisasm; do
    path=$(find "$dir/venv/lib" -path "*/nvidia/*/bin/$tool" -type f | head -n 1)
    if [ -z "$path" ]; then
        echo "fetch_ptxas.sh: no $tool in the wheels under $dir/venv" >&2
        exit 1
    fi
    chmod +x "$path"
    ln -sfn "$path" "$dir/$tool"
    "$dir/$tool" --version | tail -n 2 >&2
done
echo "$dir/ptxas"

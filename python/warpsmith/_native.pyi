"""The operators as the kernels have them: every tensor is given, outputs too, and nothing is allocated.

A tensor is anything with DLPack, a NumPy array, or a `Tensor` of this module. All tensors of a call are in one place, which
decides what runs: on a CUDA card a kernel; in a `Tensor` of an emulated device the same kernel on the emulator, checked; in
the host's memory a reference in float64, or, with `device`, that device on copies.

`stream` is a raw CUDA stream as a number. `None` is the current stream of the library that the first tensor is of, where it
tells (PyTorch from 2.10 on, CuPy), else the default stream. On the host and on emulated devices a call is done on return.

Errors: `warpsmith.ArgumentError` names the argument that is not right, `TypeError` one that is no tensor.
"""

from collections.abc import Sequence
from typing import Any, Literal, Optional, Protocol, Union

class _DLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

AnyTensor = Union[_DLPack, "Tensor", Any]
DTypeName = Literal[
    "f64", "f32", "f16", "bf16", "e4m3", "e5m2", "e2m1x2", "e8m0", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"
]

__version__: str

class Device:
    """Where kernels run: `Device("cuda")`, `Device("cuda:1")`, `Device("emulated")` (an H200) or `Device("emulated:B200")`.

    The same name is the same device for the whole process.
    """

    def __new__(cls, name: str = "emulated") -> Device: ...
    @property
    def name(self) -> str:
        """As it was asked for: `cuda:0`, `emulated:H200`."""
    @property
    def chip(self) -> str:
        """`H200`."""
    @property
    def target(self) -> str:
        """What its kernels are compiled for: `sm_90a`."""
    @property
    def is_emulated(self) -> bool: ...
    def synchronize(self) -> None:
        """Waits for all that is queued on it."""
    def empty(self, shape: Sequence[int], dtype: DTypeName = "f32") -> Tensor:
        """Memory on it. The emulator reports reads of what was never written."""
    def tensor(self, array: AnyTensor, dtype: Optional[DTypeName] = None) -> Tensor:
        """A dense copy of an array in the host's memory; `dtype` says what its bits mean where the array can not."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Tensor:
    """Memory of a `Device`, or a view of an array in the host's; it has DLPack."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
    @property
    def dtype(self) -> DTypeName: ...
    @property
    def device(self) -> str:
        """`cpu`, or the name of its `Device`."""
    @property
    def data_ptr(self) -> int: ...
    def tobytes(self) -> bytes:
        """Its elements in order, row-major."""
    def numpy(self) -> Any:
        """A copy as a NumPy array; bf16 and 8-bit floats as `ml_dtypes` has them, or as integers without it."""
    def __dlpack__(
        self,
        *,
        stream: Optional[int] = None,
        max_version: Optional[tuple[int, int]] = None,
        dl_device: Optional[tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def view(array: AnyTensor, dtype: DTypeName) -> Tensor:
    """The memory of an array in the host's memory, its elements taken for another dtype of the same width: bf16 of uint16."""

def empty(shape: Sequence[int], dtype: DTypeName = "f32") -> Tensor:
    """Memory of the host, aligned to 64 bytes, zeroed."""

def describe(tensor: AnyTensor) -> tuple[str, int, DTypeName, tuple[int, ...], tuple[int, ...]]:
    """How a tensor is seen here: place, address, dtype, shape, strides in elements."""

def current_stream(tensor: AnyTensor) -> int:
    """The raw stream that a call with `stream=None` would take for it."""

def devices() -> list[str]:
    """The CUDA cards of this machine; empty where there is no driver."""

def rms_norm_fwd(
    x: AnyTensor,
    weight: Optional[AnyTensor],
    bias: Optional[AnyTensor],
    residual: Optional[AnyTensor],
    out: AnyTensor,
    residual_out: Optional[AnyTensor],
    rstd: Optional[AnyTensor],
    eps: float,
    weight_offset: float = 0.0,
    stream: Optional[int] = None,
    device: Optional[Device] = None,
    constant: bool = False,
) -> None:
    """With h = x + residual: `out = h / √(mean h² + eps) · (weight + weight_offset) + bias`, over the last dimension.

    x, residual, out, residual_out: (rows, dim) or (rows, heads, dim); or (…, dim), where the others lie as one would. weight,
    bias: (dim), or (heads, dim). rstd: as x without dim, f32; gets 1/√(…). `residual_out` gets h before it is rounded, and may
    be `residual` or `x`; `out` may be `x`. Dtypes bf16, f16, f32, each tensor its own; rows dense, any distance apart.
    `constant` promises that nothing queued before still writes weight or bias: the launch may then begin while the one before
    it ends.
    """

def layer_norm_fwd(
    x: AnyTensor,
    weight: Optional[AnyTensor],
    bias: Optional[AnyTensor],
    residual: Optional[AnyTensor],
    out: AnyTensor,
    residual_out: Optional[AnyTensor],
    rstd: Optional[AnyTensor],
    mean: Optional[AnyTensor],
    eps: float,
    weight_offset: float = 0.0,
    stream: Optional[int] = None,
    device: Optional[Device] = None,
    constant: bool = False,
) -> None:
    """The same with the mean of h taken off first; `mean`, f32 of the shape of rstd, gets it."""

def norm_bwd(
    kind: Literal["rms", "layer"],
    x: AnyTensor,
    weight: Optional[AnyTensor],
    dy: AnyTensor,
    rstd: AnyTensor,
    mean: Optional[AnyTensor],
    dresidual_out: Optional[AnyTensor],
    dx: AnyTensor,
    dresidual: Optional[AnyTensor],
    dweight: Optional[AnyTensor],
    dbias: Optional[AnyTensor],
    workspace: Optional[AnyTensor],
    weight_offset: float = 0.0,
    stream: Optional[int] = None,
    device: Optional[Device] = None,
) -> None:
    """Gradients of either. `x` is h of forward (x + residual), `rstd` and `mean` are what forward gave.

    `dx` gets the gradient of x, plus `dresidual_out`, the gradient of residual_out; `dresidual` the same in its own dtype.
    `dweight` and `dbias` are like weight and bias, in any dtype. `workspace`, where one of them is wanted: f32 of the shape
    that `norm_workspace` says.
    """

def norm_workspace(x: AnyTensor, heads: bool = True) -> tuple[int, int, int, int]:
    """The shape of `workspace` for rows like `x`, of (rows, heads, dim) unless `heads` says that all others than the last are of
    rows. It does not depend on how many rows there are."""

def softmax_fwd(
    x: AnyTensor, out: AnyTensor, stream: Optional[int] = None, device: Optional[Device] = None
) -> None:
    """Softmax over the last dimension of (…, dim), whose others lie as one would; `out` may be `x`."""

def softmax_bwd(
    dy: AnyTensor, y: AnyTensor, dx: AnyTensor, stream: Optional[int] = None, device: Optional[Device] = None
) -> None:
    """`dx = y · (dy − Σ dy · y)`; `dx` may be `dy` or `y`."""

def cross_entropy_fwd(
    x: AnyTensor,
    target: AnyTensor,
    weight: Optional[AnyTensor],
    loss: AnyTensor,
    lse: Optional[AnyTensor],
    dx: Optional[AnyTensor],
    target_logit: Optional[AnyTensor],
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    stream: Optional[int] = None,
    device: Optional[Device] = None,
) -> None:
    """Losses of rows of logits, as `torch.nn.functional.cross_entropy(…, reduction="none")`, plus `z_loss · lse²`.

    x: (rows, classes), bf16, f16 or f32. target: (rows), i32 or i64. weight: (classes). loss, lse: (rows), f32. `dx`, like
    x and maybe x itself, gets the logits' gradients where the losses' are 1. target_logit: (rows), or (rows, classes) to
    take column `target` of; the targets' logits where they are not x's, for classes that are spread over devices.
    """

def cross_entropy_bwd(
    x: AnyTensor,
    target: AnyTensor,
    weight: Optional[AnyTensor],
    dloss: AnyTensor,
    lse: AnyTensor,
    dx: AnyTensor,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    stream: Optional[int] = None,
    device: Optional[Device] = None,
) -> None:
    """The logits' gradients. dloss: (rows), f32, any stride, 0 too; lse: what forward gave; `dx` may be `x`."""

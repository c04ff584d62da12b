//! The kernel language: handles, control flow, tensors, the Kernel trait.

//! CuTe for Rust: a GPU-kernel language, its emulator, and a library of LLM kernels.

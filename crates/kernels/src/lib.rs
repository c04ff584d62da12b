//! The library of LLM kernels, a folder per operator.

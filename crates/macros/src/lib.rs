//! Derive macros of the kernel language.

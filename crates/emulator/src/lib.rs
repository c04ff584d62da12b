//! Runs PTX on the CPU and checks it.

//! Devices, memory, streams, the compile cache and launches.

//! CuTe's layout algebra on the host.

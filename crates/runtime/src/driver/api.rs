//! The driver's functions, looked up by name all at once.

use super::DriverVersion;
use super::failure::Failure;
use crate::error::Error;
use cudarc::driver::sys::{
    self, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUgraph,
    CUgraphExec, CUipcEventHandle, CUipcMemHandle, CUjit_option, CUjitInputType, CUlaunchConfig, CUlinkState,
    CUmemAccessDesc, CUmemAllocationGranularity_flags, CUmemAllocationHandleType, CUmemAllocationProp,
    CUmemGenericAllocationHandle, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool, CUmodule, CUpointer_attribute,
    CUstream, CUstreamCaptureMode, CUtensorMap, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapInterleave,
    CUtensorMapL2promotion, CUtensorMapSwizzle,
};
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

/// Declares the table. The bindings' own wrappers are not called: they panic when a symbol is missing, and give results
/// as a Rust enum, which a newer driver's codes would break.
macro_rules! api {
    ($($name:ident($($argument:ident: $ty:ty),*);)*) => {
        /// A pointer for every function that is used here.
        #[allow(non_snake_case)]
        pub(super) struct Api { $($name: unsafe extern "C" fn($($ty),*) -> u32,)* }

        #[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]
        impl Api {
            /// Opens the library and looks everything up.
            pub(super) fn load() -> Result<Api, Error> {
                // SAFETY: opening libcuda runs its initialisers, which have no preconditions.
                if !unsafe { sys::is_culib_present() } {
                    return Err(Error::NoDriver);
                }
                // SAFETY: as above; the library is there, so this does not panic.
                let library = unsafe { sys::culib() };
                Ok(Api {
                    $($name: {
                        // SAFETY: the type is the C declaration of the function of this name in cuda.h, with its result as
                        // the integer that it is in C.
                        let found = unsafe {
                            library.get::<unsafe extern "C" fn($($ty),*) -> u32>(stringify!($name).as_bytes())
                        };
                        match found {
                            Ok(symbol) => *symbol,
                            Err(_) => return Err(Error::DriverTooOld {
                                found: concat!("it has no ", stringify!($name)).into(),
                                needed: DriverVersion::OLDEST,
                            }),
                        }
                    },)*
                })
            }

            $(pub(super) unsafe fn $name(&self, $($argument: $ty),*) -> Result<(), Failure> {
                // SAFETY: the caller keeps to the function's contract in cuda.h.
                Failure::check(stringify!($name), unsafe { (self.$name)($($argument),*) })
            })*
        }
    };
}

api! {
    cuInit(flags: c_uint);
    cuDriverGetVersion(version: *mut c_int);
    cuGetErrorName(code: u32, name: *mut *const c_char);
    cuGetErrorString(code: u32, text: *mut *const c_char);

    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);

    cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);

    cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut c_uint, active: *mut c_int);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuCtxGetCurrent(context: *mut CUcontext);
    cuCtxSetCurrent(context: CUcontext);
    cuCtxGetDevice(device: *mut CUdevice);
    cuCtxGetId(context: CUcontext, id: *mut c_ulonglong);
    cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
    cuCtxSynchronize();

    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    cuMemFree_v2(address: CUdeviceptr);
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyPeerAsync(to: CUdeviceptr, there: CUcontext, from: CUdeviceptr, here: CUcontext, bytes: usize,
        stream: CUstream);
    cuMemsetD8Async(to: CUdeviceptr, value: u8, bytes: usize, stream: CUstream);
    cuMemHostAlloc(start: *mut *mut c_void, bytes: usize, flags: c_uint);
    cuMemFreeHost(start: *mut c_void);
    cuMemGetAddressRange_v2(base: *mut CUdeviceptr, bytes: *mut usize, address: CUdeviceptr);
    cuPointerGetAttributes(count: c_uint, attributes: *mut CUpointer_attribute, values: *mut *mut c_void,
        address: CUdeviceptr);

    cuMemPoolCreate(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps);
    cuMemPoolDestroy(pool: CUmemoryPool);
    cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    cuMemPoolSetAccess(pool: CUmemoryPool, access: *const CUmemAccessDesc, count: usize);
    cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize);
    cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream);
    cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);

    cuMemGetAllocationGranularity(bytes: *mut usize, properties: *const CUmemAllocationProp,
        which: CUmemAllocationGranularity_flags);
    cuMemCreate(memory: *mut CUmemGenericAllocationHandle, bytes: usize, properties: *const CUmemAllocationProp,
        flags: c_ulonglong);
    cuMemRelease(memory: CUmemGenericAllocationHandle);
    cuMemAddressReserve(address: *mut CUdeviceptr, bytes: usize, alignment: usize, wished: CUdeviceptr,
        flags: c_ulonglong);
    cuMemAddressFree(address: CUdeviceptr, bytes: usize);
    cuMemMap(address: CUdeviceptr, bytes: usize, offset: usize, memory: CUmemGenericAllocationHandle,
        flags: c_ulonglong);
    cuMemUnmap(address: CUdeviceptr, bytes: usize);
    cuMemSetAccess(address: CUdeviceptr, bytes: usize, access: *const CUmemAccessDesc, count: usize);
    cuMemExportToShareableHandle(handle: *mut c_void, memory: CUmemGenericAllocationHandle,
        kind: CUmemAllocationHandleType, flags: c_ulonglong);
    cuMemImportFromShareableHandle(memory: *mut CUmemGenericAllocationHandle, handle: *mut c_void,
        kind: CUmemAllocationHandleType);
    cuIpcGetMemHandle(handle: *mut CUipcMemHandle, address: CUdeviceptr);
    cuIpcOpenMemHandle_v2(address: *mut CUdeviceptr, handle: CUipcMemHandle, flags: c_uint);
    cuIpcCloseMemHandle(address: CUdeviceptr);
    cuIpcGetEventHandle(handle: *mut CUipcEventHandle, event: CUevent);
    cuIpcOpenEventHandle(event: *mut CUevent, handle: CUipcEventHandle);

    cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    cuStreamDestroy_v2(stream: CUstream);
    cuStreamSynchronize(stream: CUstream);
    cuStreamGetCtx(stream: CUstream, context: *mut CUcontext);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    cuEventCreate(event: *mut CUevent, flags: c_uint);
    cuEventDestroy_v2(event: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuEventSynchronize(event: CUevent);
    cuEventQuery(event: CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);

    cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode);
    cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
    cuStreamIsCapturing(stream: CUstream, status: *mut c_uint);
    cuThreadExchangeStreamCaptureMode(mode: *mut c_uint);
    cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
    cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, result: *mut c_void);
    cuGraphLaunch(exec: CUgraphExec, stream: CUstream);
    cuGraphExecDestroy(exec: CUgraphExec);
    cuGraphDestroy(graph: CUgraph);

    cuLinkCreate_v2(count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void, state: *mut CUlinkState);
    cuLinkAddData_v2(state: CUlinkState, kind: CUjitInputType, data: *mut c_void, size: usize, name: *const c_char,
        count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void);
    cuLinkComplete(state: CUlinkState, cubin: *mut *mut c_void, size: *mut usize);
    cuLinkDestroy(state: CUlinkState);

    cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    cuModuleUnload(module: CUmodule);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    cuTensorMapEncodeTiled(map: *mut CUtensorMap, dtype: CUtensorMapDataType, rank: c_uint, address: *mut c_void,
        extents: *const u64, strides: *const u64, boxed: *const c_uint, steps: *const c_uint,
        interleave: CUtensorMapInterleave, swizzle: CUtensorMapSwizzle, promotion: CUtensorMapL2promotion,
        fill: CUtensorMapFloatOOBfill);
    cuLaunchKernelEx(config: *const CUlaunchConfig, function: CUfunction, parameters: *mut *mut c_void,
        extra: *mut *mut c_void);
}

//! A loaded cubin, and launches.

use super::context::Context;
use super::failure::NOT_FOUND;
use super::properties::PORTABLE_CLUSTER;
use super::queue::StreamHandle;
use crate::device::LaunchShape;
use crate::error::Error;
use crate::launched::Description;
use cudarc::driver::sys::{
    CUfunction, CUfunction_attribute, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUlaunchAttributeValue_union__bindgen_ty_1 as ClusterDim, CUlaunchConfig, CUmodule,
};
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A kernel of a loaded module.
pub(crate) struct Kernel {
    context: Arc<Context>,
    module: CUmodule,
    function: CUfunction,
    /// The dynamic shared memory that launches may ask for so far, in bytes.
    dynamic: AtomicU32,
    /// Whether the driver knows that clusters may be larger than every chip has them.
    large_clusters: AtomicBool,
    raising: Mutex<()>,
    /// Registers of a thread.
    pub(crate) registers: u32,
    /// Local memory of a thread, in bytes: spills and arrays.
    pub(crate) local: u32,
    /// Static shared memory of a block, in bytes.
    pub(crate) shared: u32,
    /// The largest block.
    pub(crate) threads: u32,
    /// Where each parameter begins in the packed bytes of a launch; empty when not known.
    pub(crate) offsets: Box<[u32]>,
}

// SAFETY: module and function handles may be used from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above; what changes is atomic or behind the mutex.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Loads a cubin and finds the kernel in it.
    pub(crate) fn load(context: &Arc<Context>, cubin: &[u8], name: &str) -> Result<Kernel, Error> {
        let missing = || Error::NoEntry { entry: name.into() };
        let entry = CString::new(name).map_err(|_| missing())?;
        let _entered = context.enter()?;
        // A first launch may be one that is written down for a graph.
        let _relaxed = context.relaxed();
        let api = &context.driver.api;
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is a whole cubin, an ELF file, whose headers say its size; the driver copies it.
        unsafe { api.cuModuleLoadData(&mut module, cubin.as_ptr().cast()) }.map_err(|e| context.explain(e))?;
        // From here on, dropping the kernel unloads the module.
        let mut kernel = Kernel {
            context: context.clone(),
            module,
            function: std::ptr::null_mut(),
            dynamic: AtomicU32::new(0),
            large_clusters: AtomicBool::new(false),
            raising: Mutex::new(()),
            registers: 0,
            local: 0,
            shared: 0,
            threads: 0,
            offsets: Box::default(),
        };
        // SAFETY: the module is live, and the name is NUL-terminated.
        unsafe { api.cuModuleGetFunction(&mut kernel.function, module, entry.as_ptr()) }
            .map_err(|e| if e.code == NOT_FOUND { missing() } else { context.explain(e) })?;
        use CUfunction_attribute::*;
        kernel.registers = kernel.attribute(CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        kernel.local = kernel.attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
        kernel.shared = kernel.attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        kernel.threads = kernel.attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        kernel.dynamic = AtomicU32::new(kernel.attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?);
        Ok(kernel)
    }

    fn attribute(&self, attribute: CUfunction_attribute) -> Result<u32, Error> {
        let mut value = 0;
        // SAFETY: the function is live, and the pointer is to a live integer.
        unsafe { self.context.driver.api.cuFuncGetAttribute(&mut value, attribute, self.function) }
            .map_err(|e| self.context.explain(e))?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Queues a launch. `parameters` are the kernel's, packed as PTX lays them out; the driver copies them.
    pub(crate) fn launch(
        &self,
        shape: &LaunchShape,
        parameters: &[u8],
        stream: StreamHandle,
        about: &Arc<Description>,
    ) -> Result<(), Error> {
        let context = &self.context;
        let _entered = context.enter()?;
        if shape.dynamic_shared > self.dynamic.load(Ordering::Acquire) {
            self.raise_dynamic(shape.dynamic_shared)?;
        }
        let together: u32 = shape.cluster.iter().product();
        if together > PORTABLE_CLUSTER && !self.large_clusters.load(Ordering::Acquire) {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            // SAFETY: the function is live.
            unsafe { context.driver.api.cuFuncSetAttribute(self.function, attribute, 1) }
                .map_err(|e| context.explain(e))?;
            self.large_clusters.store(true, Ordering::Release);
        }
        // Before Hopper no launch begins early.
        let pdl = shape.pdl && context.properties.capability >= (9, 0);
        let (mut attributes, count) = attributes(&LaunchShape { pdl, ..*shape });
        let config = CUlaunchConfig {
            gridDimX: shape.grid[0],
            gridDimY: shape.grid[1],
            gridDimZ: shape.grid[2],
            blockDimX: shape.block[0],
            blockDimY: shape.block[1],
            blockDimZ: shape.block[2],
            sharedMemBytes: shape.dynamic_shared,
            hStream: stream.raw(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: count,
        };
        // One by one where they are known: the assembler may place aligned parameters with gaps of its own, and the driver
        // knows where.
        let mut pointers = Pointers::new(parameters, &self.offsets);
        let mut size = parameters.len();
        let mut extra = packed(parameters, &mut size);
        let (each, extra) = match (parameters.is_empty(), self.offsets.is_empty()) {
            (true, _) => (std::ptr::null_mut(), std::ptr::null_mut()),
            (_, false) => (pointers.list(), std::ptr::null_mut()),
            (_, true) => (std::ptr::null_mut(), extra.as_mut_ptr()),
        };
        // SAFETY: the function is live; the configuration, its `count` attributes, the lists, the parameters and their size
        // are live during the call, the list of pointers has one to each of the kernel's parameters, within the packed bytes
        // that the caller has checked to be long enough, and the driver keeps none of them.
        unsafe { context.driver.api.cuLaunchKernelEx(&config, self.function, each, extra) }
            .map_err(|e| context.explain(e))?;
        context.recent.launched(about, parameters, stream.0);
        Ok(())
    }

    /// Lets launches ask for that much dynamic shared memory; beyond 48 KiB the driver wants to be told first.
    fn raise_dynamic(&self, bytes: u32) -> Result<(), Error> {
        let _one = self.raising.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > self.dynamic.load(Ordering::Acquire) {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is live.
            unsafe { self.context.driver.api.cuFuncSetAttribute(self.function, attribute, bytes as i32) }
                .map_err(|e| self.context.explain(e))?;
            self.dynamic.store(bytes, Ordering::Release);
        }
        Ok(())
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // A launch in flight still runs from the module's memory.
        if self.context.synchronize().is_ok()
            && let Ok(_entered) = self.context.enter()
        {
            // SAFETY: the module came from `cuModuleLoadData`, nothing runs from it, and its owner is gone.
            let _ = unsafe { self.context.driver.api.cuModuleUnload(self.module) };
        }
    }
}

/// The attributes that the shape asks for, at the front of the array, and how many.
fn attributes(shape: &LaunchShape) -> ([CUlaunchAttribute; 4], u32) {
    let none = CUlaunchAttribute {
        id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_IGNORE,
        pad: [0; 4],
        value: CUlaunchAttributeValue { pad: [0; 64] },
    };
    let (mut all, mut count) = ([none; 4], 0);
    if shape.cluster != [1; 3] {
        let [x, y, z] = shape.cluster;
        all[count].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        all[count].value.clusterDim = ClusterDim { x, y, z };
        count += 1;
    }
    if shape.cooperative {
        all[count].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        all[count].value.cooperative = 1;
        count += 1;
    }
    if shape.pdl {
        all[count].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        all[count].value.programmaticStreamSerializationAllowed = 1;
        count += 1;
    }
    if shape.priority != 0 {
        all[count].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY;
        all[count].value.priority = shape.priority;
        count += 1;
    }
    (all, count as u32)
}

/// Pointers to parameters in their packed bytes; the first few without an allocation.
struct Pointers {
    few: [*mut c_void; Pointers::FEW],
    many: Vec<*mut c_void>,
}

impl Pointers {
    const FEW: usize = 24;

    fn new(parameters: &[u8], offsets: &[u32]) -> Pointers {
        // Offsets within the bytes, as the launch's check has seen to; one past them would point at their end.
        let at = |o: &u32| parameters[(*o as usize).min(parameters.len())..].as_ptr().cast_mut().cast();
        let mut few = [std::ptr::null_mut(); Pointers::FEW];
        few.iter_mut().zip(offsets).for_each(|(p, o)| *p = at(o));
        let many = if offsets.len() > Pointers::FEW { offsets.iter().map(at).collect() } else { vec![] };
        Pointers { few, many }
    }

    fn list(&mut self) -> *mut *mut c_void {
        if self.many.is_empty() { self.few.as_mut_ptr() } else { self.many.as_mut_ptr() }
    }
}

/// The list that hands over a packed buffer: key, value, key, value, end.
fn packed(parameters: &[u8], size: &mut usize) -> [*mut c_void; 5] {
    // `CU_LAUNCH_PARAM_BUFFER_POINTER`, `CU_LAUNCH_PARAM_BUFFER_SIZE`, `CU_LAUNCH_PARAM_END`.
    let key = |n: usize| std::ptr::without_provenance_mut(n);
    let size: *mut usize = size;
    [key(1), parameters.as_ptr().cast_mut().cast(), key(2), size.cast(), key(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for_becomes_an_attribute() {
        let shape = LaunchShape::new([1; 3], [32, 1, 1]);
        assert_eq!(attributes(&shape).1, 0);
        let (all, count) = attributes(&shape.cluster([2, 1, 1]).pdl());
        assert_eq!(count, 2);
        assert_eq!(all[0].id, CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        assert_eq!(all[1].id, CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
        let (all, count) = attributes(&shape.pdl());
        assert_eq!(count, 1);
        assert_eq!(all[0].id, CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
        let (all, count) = attributes(&shape.cluster([2, 1, 1]).cooperative().pdl().priority(-2));
        assert_eq!(count, 4);
        assert_eq!(all[3].id, CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY);
    }
}

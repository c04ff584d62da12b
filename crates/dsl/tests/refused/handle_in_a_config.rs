//! expect E0277: a run-time value kept in a kernel's config
use warpsmith_dsl::prelude::*;
struct Bad {
    eps: F32,
}
impl Kernel for Bad {
    type Args = ();
    fn name(&self) -> String {
        "bad".into()
    }
    fn launch(&self, _: &()) -> Launch {
        Launch::grid(1)
    }
    fn body(&self, _: ()) {}
}

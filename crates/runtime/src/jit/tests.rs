//! Operators on a device that takes launches and does not run them.

use super::*;
use crate::Tensor as Memory;
use crate::launched::Suspect;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{DType, Extent, Receiver};
use warpsmith_types::Chip;

/// `y = a · x`, each block a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Scale {
    threads: usize,
}

struct ScaleArgs<'a> {
    x: &'a TensorArg,
    y: &'a mut TensorArg,
    a: f32,
}

struct ScaleParams {
    x: Tensor,
    y: Tensor,
    a: warpsmith_dsl::F32,
}

impl Params for ScaleParams {
    type Host<'a> = ScaleArgs<'a>;
    fn describe(host: &ScaleArgs<'_>, a: &mut Arguments) {
        a.tensor("x", host.x, &[("rows", Extent::Dynamic), ("dim", Extent::Fixed)], false);
        a.tensor("y", host.y, &[("rows", Extent::Dynamic), ("dim", Extent::Fixed)], true);
        a.f32("a", host.a);
    }
    fn receive(r: &mut Receiver) -> ScaleParams {
        ScaleParams { x: r.tensor(), y: r.tensor(), a: r.f32() }
    }
}

impl Kernel for Scale {
    type Args = ScaleParams;
    fn name(&self) -> String {
        format!("scale_{}", self.threads)
    }
    fn launch(&self, a: &ScaleArgs<'_>) -> Launch {
        Launch::grid(a.x.dim(0)).block(self.threads)
    }
    fn body(&self, a: ScaleParams) {
        let tv = Tv::rows(1, self.threads, 4, 1).unwrap();
        let mine = |t: &Tensor| t.tile([1, 4 * self.threads], (block_idx().x, 0)).partition(&tv, thread_idx().x);
        mine(&a.y).store(mine(&a.x).load_or(0.0).f32() * a.a);
    }
    fn command(&self) -> Option<String> {
        Some("scale --shape {x} --by {a}".into())
    }
}

impl Plans for Scale {
    fn plans(&self) -> Vec<Scale> {
        [32, 64].map(|threads| Scale { threads }).into()
    }
    fn plan(&self) -> String {
        format!("{} threads", self.threads)
    }
}

fn tensors(device: &Device) -> [Memory; 2] {
    ["x", "y"].map(|name| Memory::new(device, name, DType::F32, &[3, 128]).unwrap())
}

#[test]
fn what_is_preferred_is_taken_from_then_on() {
    let device = Device::idle(Chip::H200);
    let stream = device.default_stream();
    let operator = Kernels::<Scale>::with_plans();
    let [x, mut y] = tensors(&device);
    let mut asked = 0;
    let mut call = |y: &mut Memory, size| {
        let args = ScaleArgs { x: x.arg(), y: y.arg_mut(), a: 2.0 };
        operator.launch(&args, size, &stream, || {
            asked += 1;
            Ok(Scale { threads: 32 })
        })
    };
    call(&mut y, 1).unwrap();
    call(&mut y, 1).unwrap();
    call(&mut y, 2).unwrap();
    // Once a size.
    assert_eq!(asked, 2);

    let [x, mut y] = tensors(&device);
    let args = ScaleArgs { x: x.arg(), y: y.arg_mut(), a: 2.0 };
    let compiled = |threads| operator.kernel(Scale { threads }).forms.count();
    assert_eq!((compiled(32), compiled(64)), (1, 0));
    // Where nothing can be measured, the model stays.
    let tuned = operator.tune(Scale { threads: 32 }, &args, 1, &device).unwrap();
    assert_eq!((tuned.kernel.threads, tuned.by), (32, crate::tuning::Decision::Model));
    let winner = (Scale { threads: 32 }, Scale { threads: 64 });
    operator.prefer(&Arguments::of::<ScaleParams>(&args), 1, &device, winner);
    operator.launch(&args, 1, &stream, || Ok(Scale { threads: 32 })).unwrap();
    operator.launch(&args, 2, &stream, || Ok(Scale { threads: 32 })).unwrap();
    assert_eq!((compiled(32), compiled(64)), (1, 1));
    // What begins at the second row of the same tensor takes it too, though it is aligned to less; what the operator itself
    // would do otherwise is none of it.
    let [x, mut y] = [(&x, 1), (&y, 1)].map(|(t, row)| {
        let address = t.arg().address + row * 4 * 132;
        TensorArg { address, shape: vec![2, 128], ..t.arg().clone() }
    });
    let args = ScaleArgs { x: &x, y: &mut y, a: 2.0 };
    operator.launch(&args, 1, &stream, || Ok(Scale { threads: 32 })).unwrap();
    assert_eq!((compiled(32), compiled(64), compiled(128)), (1, 2, 0));
    operator.launch(&args, 3, &stream, || Ok(Scale { threads: 128 })).unwrap();
    assert_eq!((compiled(32), compiled(64), compiled(128)), (1, 2, 1));
}

#[test]
fn a_suspect_has_its_arguments() {
    let device = Device::idle(Chip::H200);
    let jit = Jit::new(Scale { threads: 32 });
    let [x, mut y] = tensors(&device);
    let args = ScaleArgs { x: x.arg(), y: y.arg_mut(), a: 0.5 };
    let arguments = Arguments::of::<ScaleParams>(&args);
    let loaded = jit.prepare(&arguments, &jit.kernel().launch(&args), &device).unwrap().unwrap();
    let Suspect { kernel, operator, arguments, command } = loaded.about().suspect(arguments.bytes());
    assert_eq!((kernel.as_str(), operator.as_deref()), ("scale_32", Some("Scale")));
    assert_eq!(command.as_deref(), Some("scale --shape 3x128 --by 0.5"));
    let tensor = |t: &Memory| format!("f32 (3, 128) at {:#x}", t.arg().address);
    let expected = [("x", tensor(&x)), ("y", tensor(&y)), ("a", "0.5".into())];
    assert_eq!(arguments, expected.map(|(name, a)| (name.to_string(), a)));
}

#[test]
fn strides_that_are_not_dense_are_told() {
    let device = Device::idle(Chip::H200);
    let jit = Jit::new(Scale { threads: 32 });
    let x = Memory::strided(&device, "x", DType::F32, [3, 128], 132, 4).unwrap();
    // Rows further apart than 32 bits count.
    let mut y = TensorArg { strides: vec![1 << 33, 1], ..x.arg().clone() };
    y.address += 1 << 40;
    let bound = jit.bind(&ScaleArgs { x: x.arg(), y: &mut y, a: -1.0 }, &device).unwrap();
    let about = bound.loaded.as_ref().unwrap().about();
    let told = about.suspect(&bound.parameters).to_string();
    let expected = format!(
        "`scale_32` of Scale with x: f32 (3, 128) of strides (132, 1) at {:#x}, y: f32 (3, 128) of strides (8589934592, 1) \
         at {:#x}, a: -1.0",
        x.arg().address,
        y.address
    );
    assert_eq!(told, expected);
    // What is cut off is left out.
    assert_eq!(about.suspect(&bound.parameters[..16]).to_string(), expected.split(", y:").next().unwrap());
    assert_eq!(about.suspect(&[]).to_string(), "`scale_32` of Scale");
}

#[test]
fn arguments_of_another_device_are_refused() {
    let (device, there) = (Device::idle(Chip::H200), Device::idle(Chip::H200));
    let ([x, _], [_, mut y]) = (tensors(&device), tensors(&there));
    let operator = Kernels::<Scale>::new();
    let args = ScaleArgs { x: x.arg(), y: y.arg_mut(), a: 1.0 };
    let refused = operator.launch(&args, 0, &device.default_stream(), || Ok(Scale { threads: 32 })).unwrap_err();
    assert!(refused.to_string().contains("`y`"), "{refused}");
}

//! Derive macros of the kernel language.
//!
//! | macro | what |
//! |---|---|
//! | [`KernelArgs`] | from the host's argument struct, the device's, and the checks between arguments |

mod kernel_args;

use proc_macro::TokenStream;

/// Writes the device's side of an argument struct.
///
/// `RmsNormArgs` gets a `RmsNormParams` with the same fields as run-time values, and an implementation of `Params`.
/// Fields are `&TensorArg` (an input), `&mut TensorArg` (an output), `Option` of either, `f32`, `i32` and `usize`.
/// A tensor names its modes: `#[tensor(rows, dim = fixed)]`; `fixed` folds the extent into the code. Modes of the same
/// name must have the same extent. `constant` behind the modes of an input has the kernel make use of the caller's promise
/// that nobody writes it meanwhile, where it is made (`TensorArg::constant`).
///
/// The generated code finds the language at `::warpsmith::dsl`.
#[proc_macro_derive(KernelArgs, attributes(tensor))]
pub fn derive_kernel_args(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    kernel_args::expand(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

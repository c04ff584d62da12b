//! `#[derive(KernelArgs)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, GenericArgument, GenericParam, Ident, PathArguments, Token, Type,
};

/// What a field is.
enum Kind {
    Tensor { output: bool },
    Scalar { method: Ident, handle: Ident },
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream, Error> {
    let host = &input.ident;
    let text = host.to_string();
    let Some(stem) = text.strip_suffix("Args") else {
        return Err(Error::new(host.span(), "an argument struct is called `…Args`; the device's is then `…Params`"));
    };
    let params = format_ident!("{stem}Params", span = host.span());
    let visibility = &input.vis;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(host.span(), "`KernelArgs` is derived for structs"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(host.span(), "`KernelArgs` needs named fields: errors name arguments by them"));
    };
    let lifetimes = input.generics.params.iter().map(|p| match p {
        GenericParam::Lifetime(_) => Ok(()),
        other => Err(Error::new(other.span(), "an argument struct is generic over one lifetime only")),
    });
    lifetimes.collect::<Result<Vec<_>, _>>()?;
    let host_type = if input.generics.params.is_empty() { quote!(#host) } else { quote!(#host<'a>) };

    let dsl = quote!(::warpsmith::dsl);
    let (mut declared, mut described, mut received) = (vec![], vec![], vec![]);
    for field in &fields.named {
        let Some(name) = &field.ident else { continue };
        let label = name.to_string();
        let visibility = &field.vis;
        let docs = field.attrs.iter().filter(|a| a.path().is_ident("doc"));
        let (kind, optional) = classify(&field.ty)?;
        let (handle, describe, receive) = match kind {
            Kind::Tensor { output } => {
                let (modes, constant) = modes(&field.attrs, field.span(), &dsl)?;
                let describe = match (constant, output) {
                    (None, _) => quote!(arguments.tensor(#label, value, &[#(#modes),*], #output);),
                    (Some(_), false) => quote!(arguments.constant(#label, value, &[#(#modes),*]);),
                    (Some(word), true) => {
                        return Err(Error::new(word, "an output is written: it is not `constant`"));
                    }
                };
                (quote!(#dsl::Tensor), describe, quote!(#dsl::Receiver::tensor))
            }
            Kind::Scalar { method, handle } => {
                let describe = quote!(arguments.#method(#label, *value););
                (quote!(#dsl::value::#handle), describe, quote!(#dsl::Receiver::#method))
            }
        };
        if optional {
            declared.push(quote!(#(#docs)* #visibility #name: ::core::option::Option<#handle>));
            described.push(quote! {
                arguments.optional(host.#name.is_some());
                if let ::core::option::Option::Some(value) = &host.#name { #describe }
            });
            received.push(quote!(#name: receiver.optional(#receive)));
        } else {
            declared.push(quote!(#(#docs)* #visibility #name: #handle));
            described.push(quote!({ let value = &host.#name; #describe }));
            received.push(quote!(#name: #receive(receiver)));
        }
    }
    let doc = format!("The device's side of [`{host}`].");
    Ok(quote! {
        #[doc = #doc]
        #visibility struct #params { #(#declared),* }

        impl #dsl::Params for #params {
            type Host<'a> = #host_type;
            fn describe(host: &Self::Host<'_>, arguments: &mut #dsl::Arguments) { #(#described)* }
            fn receive(receiver: &mut #dsl::Receiver) -> Self { Self { #(#received),* } }
        }
    })
}

fn classify(ty: &Type) -> Result<(Kind, bool), Error> {
    if let Type::Path(path) = ty
        && let Some(last) = path.path.segments.last()
        && last.ident == "Option"
        && let PathArguments::AngleBracketed(inner) = &last.arguments
        && let Some(GenericArgument::Type(inner)) = inner.args.first()
    {
        return Ok((classify(inner)?.0, true));
    }
    match ty {
        Type::Reference(r) if names(&r.elem, "TensorArg") => {
            Ok((Kind::Tensor { output: r.mutability.is_some() }, false))
        }
        _ => {
            for (host, handle) in [("f32", "F32"), ("i32", "I32"), ("usize", "U32")] {
                if names(ty, host) {
                    let (method, handle) = (Ident::new(host, ty.span()), Ident::new(handle, ty.span()));
                    return Ok((Kind::Scalar { method, handle }, false));
                }
            }
            let message = "expected `&TensorArg`, `&mut TensorArg`, `f32`, `i32`, `usize`, or an `Option` of one";
            Err(Error::new(ty.span(), message))
        }
    }
}

fn names(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(p) if p.path.segments.last().is_some_and(|s| s.ident == name))
}

/// `#[tensor(rows, dim = fixed, constant)]`: pairs of a name and how the extent enters, and where `constant` is said.
fn modes(
    attributes: &[Attribute],
    span: proc_macro2::Span,
    dsl: &TokenStream,
) -> Result<(Vec<TokenStream>, Option<proc_macro2::Span>), Error> {
    struct Mode {
        name: Ident,
        fixed: bool,
    }
    impl syn::parse::Parse for Mode {
        fn parse(input: syn::parse::ParseStream<'_>) -> Result<Mode, Error> {
            let name: Ident = input.parse()?;
            let mut fixed = false;
            if input.parse::<Option<Token![=]>>()?.is_some() {
                let how: Ident = input.parse()?;
                fixed = how == "fixed";
                if !fixed {
                    return Err(Error::new(how.span(), "expected `fixed`, or no `=`: then it is read at run time"));
                }
            }
            Ok(Mode { name, fixed })
        }
    }
    let Some(attribute) = attributes.iter().find(|a| a.path().is_ident("tensor")) else {
        return Err(Error::new(span, "a tensor names its modes: `#[tensor(rows, dim = fixed)]`"));
    };
    let words = attribute.parse_args_with(Punctuated::<Mode, Token![,]>::parse_terminated)?;
    let is_mode = |m: &&Mode| m.name != "constant";
    let constant = words.iter().find(|m| !is_mode(m)).map(|m| m.name.span());
    let modes = words.iter().filter(is_mode).map(|m| {
        let name = m.name.to_string();
        let extent = if m.fixed { quote!(Fixed) } else { quote!(Dynamic) };
        quote!((#name, #dsl::Extent::#extent))
    });
    Ok((modes.collect(), constant))
}

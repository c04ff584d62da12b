//! The typed, structured kernel IR: verifier, passes, text form, lowering to PTX.

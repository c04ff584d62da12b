//! Calls of functions, and printing.

mod support;

use support::{Arg::*, Buffers, assert_clean, launch, only, program, run, system};
use warpsmith_emulator::FindingKind;

/// A module with these functions and a kernel `k` with parameter `x`.
fn module(functions: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n{functions}\n.visible .entry k(.param .u64 x)\n{{\n\
         .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n.reg .f64 %fd<8>;\n.local .align 8 .b8 buffer[64];\n\
         ld.param.u64 %rd1, [x];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\n{body}\nret;\n}}\n"
    )
}

const SQUARE: &str = "
.func (.param .b32 result) square(.param .b32 n)
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [n];
    mul.lo.u32 %r1, %r1, %r1;
    st.param.b32 [result], %r1;
    ret;
}";

const FACTORIAL: &str = "
.func (.param .b32 result) factorial(.param .b32 n)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 1;
    setp.lt.u32 %p, %r1, 2;
    @%p bra DONE;
    {
        .param .b32 less;
        .param .b32 product;
        sub.u32 %r3, %r1, 1;
        st.param.b32 [less], %r3;
        call (product), factorial, (less);
        ld.param.b32 %r2, [product];
    }
    mul.lo.u32 %r2, %r2, %r1;
DONE:
    st.param.b32 [result], %r2;
    ret;
}";

fn call(function: &str) -> String {
    format!(
        "{{ .param .b32 in; .param .b32 out; st.param.b32 [in], %r1; call.uni (out), {function}, (in); ld.param.b32 %r2, [out]; }}\n\
         st.global.u32 [%rd2], %r2;"
    )
}

fn values(ptx: &str) -> (Vec<u32>, warpsmith_emulator::Outcome) {
    let mut s = system();
    let x = s.u32s("x", &[0; 32]);
    let outcome = run(&mut s, &program(ptx, "k"), &launch([1, 1, 1], [32, 1, 1], &[P(x)]));
    (s.read_u32s(x, 32), outcome)
}

#[test]
fn a_function_computes() {
    let (values, outcome) = values(&module(SQUARE, &call("square")));
    assert_clean(&outcome);
    assert_eq!(values, (0..32).map(|n| n * n).collect::<Vec<u32>>());
}

#[test]
fn lanes_recurse_to_different_depths() {
    let (values, outcome) = values(&module(FACTORIAL, &call("factorial")));
    assert_clean(&outcome);
    let factorial = |n: u32| (1..=n).fold(1u32, u32::wrapping_mul);
    assert_eq!(values, (0..32).map(factorial).collect::<Vec<u32>>());
}

#[test]
fn a_guarded_call_leaves_the_others() {
    let body = format!(
        "mov.u32 %r2, 7;\nand.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 1;\n@!%p1 bra SKIP;\n{}\nSKIP:\n",
        call("square")
    );
    let (values, outcome) = values(&module(SQUARE, &body));
    assert_clean(&outcome);
    assert_eq!((values[3], values[4], values[31]), (9, 0, 961));
}

#[test]
fn calls_without_end_are_stopped() {
    let endless = FACTORIAL.replace("@%p bra DONE;", "");
    let (_, outcome) = values(&module(&endless, &call("factorial")));
    assert_eq!(only(&outcome).kind, FindingKind::CallDepth);
    assert!(only(&outcome).detail.contains("1024"));
}

const PRINTF: &str = ".extern .func (.param .b32 func_retval0) vprintf(.param .b64 a, .param .b64 b);\n";

#[test]
fn printing() {
    let text: Vec<String> = b"lane %d: %5.2f %s\n\0".iter().map(u8::to_string).collect();
    let word: Vec<String> = b"done\0".iter().map(u8::to_string).collect();
    let declarations = format!(
        "{PRINTF}.global .align 1 .b8 text[{}] = {{{}}};\n.global .align 1 .b8 word[{}] = {{{}}};\n",
        text.len(),
        text.join(", "),
        word.len(),
        word.join(", ")
    );
    let body = "
        setp.ge.u32 %p1, %r1, 2;
        @%p1 bra END;
        mov.u64 %rd3, buffer;
        cvta.local.u64 %rd3, %rd3;
        st.u32 [%rd3], %r1;
        cvt.rn.f64.u32 %fd1, %r1;
        add.f64 %fd1, %fd1, 0d3FF8000000000000;
        st.f64 [%rd3+8], %fd1;
        mov.u64 %rd5, word;
        cvta.global.u64 %rd5, %rd5;
        st.u64 [%rd3+16], %rd5;
        mov.u64 %rd4, text;
        cvta.global.u64 %rd4, %rd4;
        {
            .param .b64 p0; .param .b64 p1; .param .b32 r;
            st.param.b64 [p0], %rd4;
            st.param.b64 [p1], %rd3;
            call.uni (r), vprintf, (p0, p1);
            ld.param.b32 %r5, [r];
        }
        st.global.u32 [%rd2], %r5;
    END:";
    let (values, outcome) = values(&module(&declarations, body));
    assert_clean(&outcome);
    assert_eq!(outcome.printed, "lane 0:  1.50 done\nlane 1:  2.50 done\n");
    assert_eq!(values[1], 3);
}

#[test]
fn an_assertion_that_fails_says_which() {
    let text = |s: &str| s.bytes().chain([0]).map(|b| b.to_string()).collect::<Vec<_>>().join(", ");
    let declarations = format!(
        ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
         .global .align 1 .b8 message[] = {{{}}};\n.global .align 1 .b8 file[] = {{{}}};\n.global .align 1 .b8 name[] = {{{}}};\n",
        text("n > 0"),
        text("k.cu"),
        text("kernel")
    );
    let body = "
        setp.ne.u32 %p1, %r1, 5;
        @%p1 bra END;
        mov.u64 %rd3, message;
        mov.u64 %rd4, file;
        mov.u64 %rd5, name;
        mov.u64 %rd6, 1;
        {
            .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
            st.param.b64 [a], %rd3;
            st.param.b64 [b], %rd4;
            st.param.b32 [c], 12;
            st.param.b64 [d], %rd5;
            st.param.b64 [e], %rd6;
            call.uni __assertfail, (a, b, c, d, e);
        }
    END:
        st.global.u32 [%rd2], 1;";
    let (values, outcome) = values(&module(&declarations, body));
    let finding = only(&outcome);
    assert_eq!((finding.kind, finding.thread), (FindingKind::Trap, [5, 0, 0]));
    assert_eq!(finding.detail, "the assertion `n > 0` of `kernel` at k.cu:12 does not hold");
    assert_eq!((values[4], values[5], values[6]), (1, 0, 1));
}

/// Each lane goes where its entry of a table says, and all meet again behind it.
#[test]
fn a_table_of_branches() {
    let body = "
        and.b32 %r2, %r1, 3;
        setp.lt.u32 %p1, %r1, 24;
        mov.u32 %r3, 9;
    TABLE: .branchtargets ZERO, ONE, TWO, ZERO;
        @%p1 brx.idx %r2, TABLE;
        mov.u32 %r3, 100;
        bra DONE;
    ZERO:
        mov.u32 %r3, 0;
        bra DONE;
    ONE:
        mov.u32 %r3, 1;
        bra DONE;
    TWO:
        mov.u32 %r3, 2;
    DONE:
        activemask.b32 %r4;
        popc.b32 %r4, %r4;
        mad.lo.u32 %r3, %r4, 1000, %r3;
        st.global.u32 [%rd2], %r3;";
    let (got, outcome) = values(&module("", body));
    assert_clean(&outcome);
    let want = |l: u32| 32_000 + if l < 24 { [0, 1, 2, 0][l as usize % 4] } else { 100 };
    assert_eq!(got, (0..32).map(want).collect::<Vec<_>>());
}

#[test]
fn an_index_beyond_the_table_goes_somewhere_in_it() {
    let body = "
    TABLE: .branchtargets HERE, THERE;
        brx.idx %r1, TABLE;
    HERE:
        st.global.u32 [%rd2], 7;
        bra DONE;
    THERE:
        st.global.u32 [%rd2], 8;
    DONE:";
    let (got, _) = values(&module("", body));
    assert_eq!(got[..2], [7, 8]);
    assert!(got.iter().all(|x| [7, 8].contains(x)), "{got:?}");
}

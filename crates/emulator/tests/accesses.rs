//! Loads and stores of every width, alone and beside others.

mod support;

use support::{Arg::*, Buffers, Random, assert_clean, kernel, launch, program, run, system};

#[test]
fn accesses_of_every_width() {
    // Copies 64 bytes a thread in each way there is, through signed narrow loads, too.
    let text = kernel(
        ".param .u64 in, .param .u64 out",
        "",
        "
        ld.param.u64 %rd1, [in];
        ld.param.u64 %rd2, [out];
        mov.u32 %r1, %tid.x;
        mad.wide.u32 %rd1, %r1, 64, %rd1;
        mad.wide.u32 %rd2, %r1, 64, %rd2;
        ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1];
        st.global.v4.b32 [%rd2], {%r2, %r3, %r4, %r5};
        ld.global.v2.b64 {%rd3, %rd4}, [%rd1+16];
        st.global.v2.b64 [%rd2+16], {%rd3, %rd4};
        ld.global.v4.b16 {%h1, %h2, %h3, %h4}, [%rd1+32];
        st.global.v4.b16 [%rd2+32], {%h1, %h2, %h3, %h4};
        ld.global.v2.b16 {%h1, %h2}, [%rd1+40];
        st.global.v2.b16 [%rd2+40], {%h1, %h2};
        ld.global.s16 %r6, [%rd1+44];
        st.global.u16 [%rd2+44], %r6;
        ld.global.v2.u8 {%r7, %r8}, [%rd1+46];
        st.global.v2.u8 [%rd2+46], {%r7, %r8};
        ld.global.s8 %r9, [%rd1+48];
        shr.s32 %r10, %r9, 8;
        st.global.u8 [%rd2+48], %r9;
        st.global.u8 [%rd2+49], %r10;
        ld.global.s32 %rd5, [%rd1+52];
        shr.u64 %rd6, %rd5, 32;
        st.global.u32 [%rd2+52], %rd5;
        st.global.u32 [%rd2+56], %rd6;
        ld.global.b32 %r11, [%rd1+60];
        st.global.b32 [%rd2+60], %r11;",
    );
    let mut random = Random(3);
    let data: Vec<u8> = (0..64 * 40).map(|_| random.next() as u8).collect();
    let mut s = system();
    let (x, out) = (s.upload("in", &data, |b| [*b]), s.upload("out", &vec![0; data.len()], |b: &u8| [*b]));
    assert_clean(&run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [40, 1, 1], &[P(x), P(out)])));
    let mut got = vec![0; data.len()];
    s.read(out, &mut got).unwrap();
    for (x, y) in data.chunks(64).zip(got.chunks(64)) {
        assert_eq!(x[..49], y[..49]);
        assert_eq!(y[49], if x[48] & 0x80 != 0 { 0xff } else { 0 });
        assert_eq!(x[52..56], y[52..56]);
        assert_eq!(y[56..60], [if x[55] & 0x80 != 0 { 0xff } else { 0 }; 4]);
        assert_eq!(x[60..], y[60..]);
    }
}

#[test]
fn narrow_rows_share_words() {
    // 16-bit rows of odd length, written by many blocks on several threads: no neighbour is lost.
    let text = kernel(
        ".param .u64 out",
        "",
        "
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ctaid.x;
        mad.lo.u32 %r3, %r2, 33, %r1;
        mad.wide.u32 %rd2, %r3, 2, %rd1;
        cvt.u16.u32 %h1, %r3;
        st.global.u16 [%rd2], %h1;",
    );
    let mut s = system();
    let out = s.allocate(2 * 33 * 200, "out").unwrap();
    assert_clean(&run(&mut s, &program(&text, "k"), &launch([200, 1, 1], [33, 1, 1], &[P(out)])));
    assert!(s.is_initialized(out, 2 * 33 * 200).unwrap());
    let mut bytes = vec![0; 2 * 33 * 200];
    s.read(out, &mut bytes).unwrap();
    let got: Vec<u16> = bytes.chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
    assert_eq!(got, (0..33 * 200).collect::<Vec<u16>>());
}

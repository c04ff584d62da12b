//! `wgmma`, for every type, layout and place of its operands, against the host; and its faults.

mod support;

use support::{Arg::*, Buffers, Random, assert_clean, launch, only, program, run, run_with, system};
use warpsmith_emulator::{FindingKind, Options, Outcome, Storage};
use warpsmith_types::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// A product: what the instruction says, and how its operands lie in shared memory.
#[derive(Clone, Copy)]
struct Case {
    n: usize,
    types: &'static str,
    swizzle: usize,
    /// Whether A's rows and B's columns are contiguous instead of k.
    across: (bool, bool),
    a_in_registers: bool,
    negate: (bool, bool),
}

impl Case {
    fn of(n: usize, types: &'static str, swizzle: usize) -> Case {
        Case { n, types, swizzle, across: (false, false), a_in_registers: false, negate: (false, false) }
    }
    fn element(&self) -> &'static str {
        self.types.split('.').nth(1).unwrap()
    }
    fn bytes(&self) -> usize {
        match self.element() {
            "f16" | "bf16" => 2,
            "tf32" => 4,
            _ => 1,
        }
    }
    fn k(&self) -> usize {
        32 / self.bytes()
    }
    fn half(&self) -> bool {
        self.types.starts_with("f16")
    }
    fn integer(&self) -> bool {
        self.types.starts_with("s32")
    }

    /// Bits of small integers.
    fn bits(&self, x: i32) -> u32 {
        match self.element() {
            "f16" => f32_to_f16(x as f32).into(),
            "bf16" => f32_to_bf16(x as f32).into(),
            "tf32" => (x as f32).to_bits(),
            // 3 mantissa bits of the upper byte of a binary16, and one more exponent bit less.
            "e5m2" => (f32_to_f16(x as f32) >> 8).into(),
            "e4m3" => match x {
                0 => 0,
                x => {
                    let bits = (x as f32).abs().to_bits();
                    (u32::from(x < 0) << 7) | (((bits >> 23) - 120) << 3) | (bits >> 20 & 7)
                }
            },
            _ => x as u32 & 0xff,
        }
    }

    /// Bytes of an operand of `rows` by k in shared memory, and its descriptor but for the address.
    fn image(&self, rows: usize, across: bool, value: impl Fn(usize, usize) -> u32) -> (Vec<u8>, u64) {
        let (width, size, k) = (self.swizzle.max(16), self.bytes(), self.k());
        let each = width / size;
        let mut bytes = vec![0u8; 64 << 10];
        // Units of 8 lines of `width` bytes; where the next unit lies in each direction.
        let (unit, columns) = (8 * width, if across { rows.div_ceil(each) } else { k.div_ceil(each) });
        let leading = unit;
        let stride = if self.swizzle == 0 || across { unit * columns } else { unit };
        for row in 0..rows {
            for i in 0..k {
                let (line, along) = if across { (i, row) } else { (row, i) };
                let mut at = line / 8 * stride + along / each * leading + line % 8 * width + along % each * size;
                at ^= (at / 128 % (width / 16)) * 16;
                bytes[at..at + size].copy_from_slice(&value(row, i).to_le_bytes()[..size]);
            }
        }
        let layout = match self.swizzle {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0u64,
        };
        // Without a swizzle, and across, leading and stride change their parts.
        let (leading, stride) = if self.swizzle == 0 && across { (stride, leading) } else { (leading, stride) };
        (bytes, layout << 62 | (stride as u64 / 16) << 32 | (leading as u64 / 16) << 16)
    }

    fn ptx(&self, a: u64, b: u64, before_wait: &str, wait: &str) -> String {
        let registers = self.n / if self.half() { 4 } else { 2 };
        let list: Vec<String> = (0..registers).map(|i| format!("%d{i}")).collect();
        let list = list.join(", ");
        let kind = if self.half() || self.integer() { "b32" } else { "f32" };
        let kind = if self.integer() { "s32" } else { kind };
        let a_operand = if self.a_in_registers { "{%a0, %a1, %a2, %a3}" } else { "%rd4" };
        let sign = |negative| if negative { -1 } else { 1 };
        let mut tail = String::new();
        if !self.integer() {
            tail += &format!(", {}, {}", sign(self.negate.0), sign(self.negate.1));
            if self.bytes() == 2 {
                if !self.a_in_registers {
                    tail += &format!(", {}", u32::from(self.across.0));
                }
                tail += &format!(", {}", u32::from(self.across.1));
            }
        }
        let load: String = (0..registers).map(|i| format!("ld.global.{kind} %d{i}, [%rd2+{}];\n", 4 * i)).collect();
        let store: String = (0..registers).map(|i| format!("st.global.{kind} [%rd2+{}], %d{i};\n", 4 * i)).collect();
        let fragment: String = (0..4).map(|i| format!("ld.global.b32 %a{i}, [%rd3+{}];\n", 4 * i)).collect();
        format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 d, .param .u64 fa)\n{{\n\
             .reg .pred %p<4>;\n.reg .b32 %r<16>, %a<4>;\n.reg .b64 %rd<16>;\n.reg .{kind} %d<128>;\n\
             .shared .align 1024 .b8 tile[131072];\n\
             ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [d];\nld.param.u64 %rd3, [fa];\n\
             mov.u32 %r1, %tid.x;\nmov.u32 %r2, tile;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\n\
             cvt.u64.u32 %rd5, %r3;\nadd.u64 %rd6, %rd1, %rd5;\nmov.u32 %r5, 0;\n\
             FILL:\nld.global.u32 %r6, [%rd6];\nst.shared.u32 [%r4], %r6;\nadd.u64 %rd6, %rd6, 512;\n\
             add.u32 %r4, %r4, 512;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 256;\n@%p1 bra FILL;\n\
             fence.proxy.async.shared::cta;\nbar.sync 0;\n\
             mad.wide.u32 %rd2, %r1, {}, %rd2;\nmad.wide.u32 %rd3, %r1, 16, %rd3;\n{load}{fragment}\
             shr.u32 %r7, %r2, 4;\ncvt.u64.u32 %rd7, %r7;\nor.b64 %rd4, %rd7, {a};\nadd.u64 %rd7, %rd7, 4096;\n\
             or.b64 %rd8, %rd7, {b};\nwgmma.fence.sync.aligned;\n\
             wgmma.mma_async.sync.aligned.m64n{}k{}.{} {{{list}}}, {a_operand}, %rd8, 1{tail};\n\
             wgmma.commit_group.sync.aligned;\n{before_wait}\n{wait}\n{store}ret;\n}}\n",
            4 * registers,
            self.n,
            self.k(),
            self.types
        )
    }

    /// Runs it on small integers: the outcome, and whether the result is right.
    fn run(&self, before_wait: &str, wait: &str) -> (Outcome, bool) {
        let mut random = Random(self.n as u64);
        let unsigned = self.element() == "u8";
        let (n, k) = (self.n, self.k());
        let mut matrix = |rows: usize| -> Vec<i32> {
            (0..rows * k).map(|_| random.below(7) as i32 - if unsigned { 0 } else { 3 }).collect()
        };
        let (a, b) = (matrix(64), matrix(n));
        let (mut bytes, a_bits) = self.image(64, self.across.0, |row, i| self.bits(a[row * k + i]));
        let (image, b_bits) = self.image(n, self.across.1, |row, i| self.bits(b[row * k + i]));
        bytes.extend(image);
        // A's fragment: register r of lane l of warp w has row 16 w + l / 4 + 8 (r % 2).
        let each = 4 / self.bytes();
        let fragment: Vec<u32> = (0..128 * 4)
            .map(|i| {
                let (thread, r) = (i / 4, i % 4);
                let row = thread / 32 * 16 + thread % 32 / 4 + 8 * (r % 2);
                let first = (thread % 4 + 4 * (r / 2)) * each;
                (0..each).fold(0, |x, e| x | self.bits(a[row * k + first + e]) << (8 * self.bytes() * e))
            })
            .collect();
        let number = |x: i32| if self.integer() { x as u32 } else { (x as f32).to_bits() };
        let pair = |x: i32, y: i32| u32::from(f32_to_f16(x as f32)) | u32::from(f32_to_f16(y as f32)) << 16;
        let registers = n / if self.half() { 4 } else { 2 };
        let start: Vec<u32> = (0..128 * registers)
            .map(|i| if self.half() { pair(i as i32 % 5, i as i32 % 3) } else { number(i as i32 % 9) })
            .collect();
        let mut s = system();
        let image = s.upload("in", &bytes, |b| [*b]);
        let (d, fa) = (s.u32s("d", &start), s.u32s("fragment", &fragment));
        let text = self.ptx(a_bits, b_bits, before_wait, wait);
        let outcome = run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [128, 1, 1], &[P(image), P(d), P(fa)]));
        let got = s.read_u32s(d, 128 * registers);
        let sign = if self.negate.0 != self.negate.1 { -1 } else { 1 };
        let product = |row: usize, column: usize| -> i32 {
            sign * (0..k).map(|i| a[row * k + i] * b[column * k + i]).sum::<i32>()
        };
        let right = (0..128 * registers).all(|i| {
            let (thread, r) = (i / registers, i % registers);
            let row = |half: usize| thread / 32 * 16 + thread % 32 / 4 + 8 * half;
            if self.half() {
                let column = r / 2 * 8 + thread % 4 * 2;
                let sum = |p: usize, old: i32| f32_to_f16((product(row(r % 2), column + p) + old) as f32);
                return got[i] == u32::from(sum(0, i as i32 % 5)) | u32::from(sum(1, i as i32 % 3)) << 16;
            }
            let column = r / 4 * 8 + thread % 4 * 2 + r % 2;
            got[i] == number(product(row(r / 2 % 2), column) + i as i32 % 9)
        });
        (outcome, right)
    }

    fn assert_right(&self) {
        let (outcome, right) = self.run("", WAIT);
        assert_clean(&outcome);
        assert!(
            right,
            "{} n {} swizzle {} across {:?} registers {}",
            self.types, self.n, self.swizzle, self.across, self.a_in_registers
        );
    }
}

const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";

#[test]
fn every_type_and_swizzle() {
    for types in [
        "f32.bf16.bf16",
        "f32.f16.f16",
        "f16.f16.f16",
        "f32.tf32.tf32",
        "f32.e4m3.e4m3",
        "f32.e5m2.e5m2",
        "f16.e4m3.e4m3",
        "s32.s8.s8",
        "s32.u8.u8",
    ] {
        for (n, swizzle) in [(8, 0), (64, 32), (96, 64), (256, 128)] {
            Case::of(n, types, swizzle).assert_right();
        }
        Case { a_in_registers: true, ..Case::of(32, types, 128) }.assert_right();
    }
}

#[test]
fn operands_across_and_negated() {
    for types in ["f32.bf16.bf16", "f16.f16.f16"] {
        for swizzle in [0, 32, 64, 128] {
            for across in [(true, false), (false, true), (true, true)] {
                Case { across, ..Case::of(128, types, swizzle) }.assert_right();
            }
        }
        for negate in [(true, false), (true, true)] {
            Case { negate, ..Case::of(16, types, 128) }.assert_right();
        }
    }
    Case { a_in_registers: true, across: (false, true), negate: (true, false), ..Case::of(64, "f32.f16.f16", 128) }
        .assert_right();
}

#[test]
fn the_result_is_read_before_the_wait() {
    let case = Case::of(8, "f32.bf16.bf16", 128);
    let (outcome, right) = case.run("", "");
    assert!(!right);
    let expected = "\
error: `k` uses a register that a `wgmma` on its way owns
 |
 = note: block (0, 0, 0), thread (0, 0, 0): `%d0` belongs to the `wgmma` of line 47 of the PTX until `wgmma.wait_group`
 = note: line 51 of the PTX
 = note: 128 times in all";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
}

#[test]
fn a_fence_is_missing() {
    let case = Case::of(8, "f32.bf16.bf16", 128);
    let mut s = system();
    let image = s.upload("in", &vec![0; 131072], |b: &u8| [*b]);
    let (d, fa) = (s.u32s("d", &[0; 512]), s.u32s("fragment", &[0; 512]));
    let text = case.ptx(1 << 62 | 64 << 32, 1 << 62 | 64 << 32, "", WAIT).replace("wgmma.fence.sync.aligned;", "");
    let outcome = run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [128, 1, 1], &[P(image), P(d), P(fa)]));
    let expected = "\
error: `k` starts a `wgmma` on registers that are not fenced
 |
 = note: block (0, 0, 0), thread (0, 0, 0): `%d0` is written on a way here, and no `wgmma.fence` follows
 = note: line 47 of the PTX
 = note: 128 times in all";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
}

#[test]
fn the_accumulator_is_written_before_the_wait() {
    let case = Case::of(8, "f32.bf16.bf16", 128);
    let (outcome, _) = case.run("mov.f32 %d3, 0f00000000;", WAIT);
    let finding = only(&outcome);
    assert_eq!((finding.kind, finding.count), (FindingKind::InFlight, 128));
    assert!(finding.detail.starts_with("`%d3` belongs to the `wgmma`"), "{}", finding.detail);
}

#[test]
fn descriptors_that_say_nothing_or_lead_nowhere() {
    let case = Case::of(8, "f32.bf16.bf16", 128);
    let mut s = system();
    let image = s.upload("in", &vec![0; 131072], |b: &u8| [*b]);
    let (d, fa) = (s.u32s("d", &[0; 512]), s.u32s("fragment", &[0; 512]));
    let args = [P(image), P(d), P(fa)];
    let text = case.ptx(1 << 62 | 64 << 32 | 1 << 15, 1 << 62 | 64 << 32, "", WAIT);
    let outcome = run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [128, 1, 1], &args));
    let expected = "\
error: `k` gives `wgmma` a bad descriptor
 |
 = note: block (0, 0, 0), thread (0, 0, 0): operand A: descriptor 0x4000004000008040 has bits set that have no meaning
 = note: line 47 of the PTX";
    assert_eq!(only(&outcome).diagnostic().render(), expected);
    let text = case.ptx(1 << 62 | 0x3fff << 32, 1 << 62 | 64 << 32, "", WAIT);
    let outcome = run(&mut s, &program(&text, "k"), &launch([1, 1, 1], [128, 1, 1], &args));
    assert_eq!(only(&outcome).kind, FindingKind::OutOfBounds);
}

#[test]
fn a_warpgroup_of_three_warps() {
    let case = Case::of(8, "f32.bf16.bf16", 128);
    let mut s = system();
    let image = s.upload("in", &vec![0; 131072], |b: &u8| [*b]);
    let (d, fa) = (s.u32s("d", &[0; 512]), s.u32s("fragment", &[0; 512]));
    let text = case.ptx(1 << 62 | 64 << 32, 1 << 62 | 64 << 32, "", WAIT);
    let launch = launch([1, 1, 1], [96, 1, 1], &[P(image), P(d), P(fa)]);
    let outcome = run_with(&mut s, &program(&text, "k"), &launch, None, &Options::default());
    assert!(outcome.findings.iter().any(|f| f.kind == FindingKind::Warpgroup), "{:?}", outcome.findings);
}

#[test]
fn an_operand_that_nothing_wrote() {
    let case = Case::of(8, "f32.bf16.bf16", 128);
    let mut s = system();
    let image = s.upload("in", &vec![0; 131072], |b: &u8| [*b]);
    let (d, fa) = (s.u32s("d", &[0; 512]), s.u32s("fragment", &[0; 512]));
    let text = case.ptx(1 << 62 | 64 << 32, 1 << 62 | 64 << 32, "", WAIT).replace("st.shared.u32 [%r4], %r6;", "");
    let launch = launch([1, 1, 1], [128, 1, 1], &[P(image), P(d), P(fa)]);
    let outcome = run(&mut s, &program(&text, "k"), &launch);
    assert_eq!(outcome.findings[0].kind, FindingKind::UninitializedRead(Storage::Shared));
}

#[test]
fn an_accumulator_that_nothing_wrote() {
    let case = Case::of(8, "f32.bf16.bf16", 128);
    let text = case.ptx(1 << 62 | 64 << 32, 1 << 62 | 64 << 32, "", WAIT);
    let load = |line: &&str| !line.starts_with("ld.global.f32 %d");
    let adds = text.lines().filter(load).collect::<Vec<_>>().join("\n");
    // Where the product replaces the accumulator, nobody reads what it was.
    let replaces = adds.replace("%rd8, 1", "%rd8, 0");
    for (text, clean) in [(&replaces, true), (&adds, false)] {
        let mut s = system();
        let image = s.upload("in", &vec![0; 131072], |b: &u8| [*b]);
        let (d, fa) = (s.u32s("d", &[7; 512]), s.u32s("fragment", &[0; 512]));
        let launch = launch([1, 1, 1], [128, 1, 1], &[P(image), P(d), P(fa)]);
        let outcome = run(&mut s, &program(text, "k"), &launch);
        assert_eq!(outcome.is_clean(), clean, "{:?}", outcome.findings);
        assert!(outcome.findings.iter().all(|f| f.kind == FindingKind::UninitializedRead(Storage::Register)));
        assert!(!clean || s.read_u32s(d, 512) == [0; 512]);
    }
}

#[test]
fn sixteen_bit_conversions_agree() {
    // What the cases rely on.
    assert_eq!((bf16_to_f32(f32_to_bf16(-3.0)), f16_to_f32(f32_to_f16(6.0))), (-3.0, 6.0));
}

use std::time::Instant;
use warpsmith_ir::*;
use warpsmith_types::Target;
#[test]
fn bench() {
    let mut t = String::from(
        "kernel k(p: u64 pointer p align 16, n: u32) block 384, 1, 1 max_registers 168 {\n  shared tile: 32768 align 1024\n",
    );
    for i in 0..128 {
        t += &format!("  register ${i}: f32\n");
    }
    let acc = (0..128).map(|i| format!("${i}")).collect::<Vec<_>>().join(", ");
    t += "  %0: u64 = param p\n  %1: u32 = param n\n  %2: u32 = const 0\n  %3: u32 = const 1\n  %4: u64 = const 4611686293305360384\n  %5: bool = lt %1, %3\n  for %6: u32 in %2, %1, %3 {\n";
    let mut v = 7;
    for _ in 0..700 {
        t += &format!(
            "    ptx.wgmma.fence.sync.aligned\n    %{v}: u64 = const {v}\n    %{}: u64 = add %4, %{v}\n    ptx.wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {{{acc}}}, %{}, %4, %5, 1, 1, 0, 0\n    ptx.wgmma.commit_group.sync.aligned\n    ptx.wgmma.wait_group.sync.aligned 0\n",
            v + 1,
            v + 1
        );
        v += 2;
        for _ in 0..9 {
            t += &format!("    %{v}: u32 = add %{}, %6\n", if v % 9 == 1 { 1 } else { 6 });
            v += 1;
        }
    }
    t += "  }\n}\n";
    let k = text::parse(&t).unwrap();
    println!("{} instructions", k.len());
    for _ in 0..3 {
        let s = Instant::now();
        verify(&k).unwrap();
        println!("verify {:?}", s.elapsed());
        let mut o = k.clone();
        for p in Pass::ORDER {
            let mut c = o.clone();
            let s = Instant::now();
            p.run(&mut c);
            println!("  {p:?} with verify {:?}", s.elapsed());
            o = c;
        }
        let mut o = k.clone();
        let s = Instant::now();
        optimize(&mut o);
        println!("optimize {:?}", s.elapsed());
        let s = Instant::now();
        let m = lower(&o, &LowerOptions::new(Target::SM_90A)).unwrap();
        println!("lower {:?}", s.elapsed());
        let s = Instant::now();
        let x = m.to_string();
        println!("print {:?} {}", s.elapsed(), x.lines().count());
    }
}

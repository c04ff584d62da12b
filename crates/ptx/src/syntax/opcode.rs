use super::words;

words! {
    /// The first word of an instruction; the rest of its name are modifiers (`cp.async.bulk` is `cp` with modifiers).
    Opcode {
        Abs = "abs", Activemask = "activemask", Add = "add", Addc = "addc", And = "and",
        Applypriority = "applypriority", Atom = "atom", Bar = "bar", Barrier = "barrier", Bfe = "bfe", Bfi = "bfi",
        Bfind = "bfind", Bmsk = "bmsk", Bra = "bra", Brev = "brev", Brkpt = "brkpt", BrxIdx = "brx", Call = "call",
        Clusterlaunchcontrol = "clusterlaunchcontrol", Clz = "clz", Cnot = "cnot", Copysign = "copysign", Cos = "cos",
        Cp = "cp", Createpolicy = "createpolicy", Cvt = "cvt", Cvta = "cvta", Discard = "discard", Div = "div",
        Dp2a = "dp2a", Dp4a = "dp4a", Elect = "elect", Ex2 = "ex2", Exit = "exit", Fence = "fence", Fma = "fma",
        Fns = "fns", Getctarank = "getctarank", Griddepcontrol = "griddepcontrol", Isspacep = "isspacep", Ld = "ld",
        Ldmatrix = "ldmatrix", Ldu = "ldu", Lg2 = "lg2", Lop3 = "lop3", Mad = "mad", Mad24 = "mad24", Madc = "madc",
        Mapa = "mapa", Match = "match", Max = "max", Mbarrier = "mbarrier", Membar = "membar", Min = "min", Mma = "mma",
        Mov = "mov", Movmatrix = "movmatrix", Mul = "mul", Mul24 = "mul24", Multimem = "multimem",
        Nanosleep = "nanosleep", Neg = "neg", Not = "not", Or = "or", Popc = "popc", Prefetch = "prefetch",
        Prefetchu = "prefetchu", Prmt = "prmt", Rcp = "rcp", Red = "red", Redux = "redux", Rem = "rem", Ret = "ret",
        Rsqrt = "rsqrt", Sad = "sad", Selp = "selp", Set = "set", Setmaxnreg = "setmaxnreg", Setp = "setp", Shf = "shf",
        Shfl = "shfl", Shl = "shl", Shr = "shr", Sin = "sin", Slct = "slct", Sqrt = "sqrt", St = "st",
        Stmatrix = "stmatrix", Sub = "sub", Subc = "subc", Szext = "szext", Tanh = "tanh", Tensormap = "tensormap",
        Testp = "testp", Trap = "trap", Vabsdiff2 = "vabsdiff2", Vabsdiff4 = "vabsdiff4", Vadd2 = "vadd2",
        Vadd4 = "vadd4", Vavrg2 = "vavrg2", Vavrg4 = "vavrg4", Vmax2 = "vmax2", Vmax4 = "vmax4", Vmin2 = "vmin2",
        Vmin4 = "vmin4", Vote = "vote", Vsub2 = "vsub2", Vsub4 = "vsub4", Wgmma = "wgmma", Wmma = "wmma", Xor = "xor",
    }
}

use super::*;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("warpsmith-files-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(unique);
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What is said of the file, without its folder.
fn said(path: &Path, name: Option<&str>) -> String {
    let text = read(path, name).unwrap_err().to_string();
    assert!(!text.contains('\n'), "more than one line: {text}");
    text.replace(&format!("{}/", path.parent().unwrap().display()), "")
}

fn tensor(dtype: DType, shape: &[usize]) -> Tensor {
    let bytes = shape.iter().product::<usize>() * dtype.bytes();
    Tensor { dtype, shape: shape.into(), bytes: (0..bytes).map(|i| (i * 37 % 251) as u8).collect() }
}

/// A `.safetensors` file with that header and so many bytes after it.
fn safetensors(header: &str, bytes: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![1; bytes]].concat()
}

/// A version 1 `.npy` file with that dictionary and so many bytes after it.
fn npy(header: &str, bytes: usize) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &vec![1; bytes]].concat()
}

#[test]
fn safetensors_keep_every_dtype() {
    let folder = Folder::new();
    let path = folder.file("x.safetensors");
    for dtype in DType::ALL {
        for shape in [&[3, 5][..], &[7], &[], &[0, 4]] {
            let x = tensor(dtype, shape);
            let written = if dtype == DType::E2M1x2 { DType::U8 } else { dtype };
            assert_eq!(write(&path, "x", &x).unwrap(), written);
            assert_eq!(read(&path, None).unwrap(), Tensor { dtype: written, ..x.clone() });
            assert_eq!(read(&path, Some("x")).unwrap(), Tensor { dtype: written, ..x });
        }
    }
}

#[test]
fn one_of_several_is_chosen_by_name() {
    let folder = Folder::new();
    let header = r#"{"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"BF16","shape":[1,1],"data_offsets":[2,4]}}"#;
    let path = folder.write("two.safetensors", &safetensors(header, 4));
    assert_eq!(read(&path, Some("a")).unwrap(), Tensor { dtype: DType::BF16, shape: vec![1, 1], bytes: vec![1, 1] });
    assert_eq!(said(&path, None), "two.safetensors: has several tensors; choose one by name: `a`, `b`");
    assert_eq!(said(&path, Some("c")), "two.safetensors: has no tensor `c`; it has `a`, `b`");
    let path = folder.write("none.safetensors", &safetensors("{}", 0));
    assert_eq!(said(&path, None), "none.safetensors: has no tensors");
}

#[test]
fn npy_keeps_what_numpy_has_and_widens_the_rest() {
    let folder = Folder::new();
    let path = folder.file("x.npy");
    for shape in [&[3, 5][..], &[7], &[], &[0, 4]] {
        for (_, dtype) in npy::TYPES {
            let x = tensor(dtype, shape);
            assert_eq!(write(&path, "x", &x).unwrap(), dtype);
            assert_eq!(read(&path, None).unwrap(), x);
        }
    }
    let x = Tensor { dtype: DType::BF16, shape: vec![2], bytes: vec![0x80, 0x3f, 0x00, 0xc0] };
    assert_eq!(write(&path, "x", &x).unwrap(), DType::F32);
    let bytes = [1f32.to_le_bytes(), (-2f32).to_le_bytes()].concat();
    assert_eq!(read(&path, None).unwrap(), Tensor { dtype: DType::F32, shape: vec![2], bytes: bytes.clone() });
    let x = Tensor { dtype: DType::E4M3, shape: vec![2], bytes: vec![0x38, 0xc0] };
    assert_eq!(write(&path, "x", &x).unwrap(), DType::F32);
    assert_eq!(read(&path, None).unwrap().bytes, bytes);
    let message = read_float(&folder.write("i.npy", &npy_of_bytes()), None).unwrap_err().to_string();
    assert!(message.ends_with("i.npy: elements of u8 are not supported; expected f32, f16 or bf16"), "{message}");
}

fn npy_of_bytes() -> Vec<u8> {
    npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", 2)
}

#[test]
fn bad_files_are_told_in_a_line() {
    let folder = Folder::new();
    assert_eq!(
        said(&folder.file("gone.npy"), None),
        "gone.npy: can not be read: No such file or directory (os error 2)"
    );
    assert_eq!(said(&folder.file("x.txt"), None), "x.txt: a tensor file ends in .safetensors or .npy");

    let path = folder.write("short.safetensors", b"abc");
    assert!(said(&path, None).starts_with("short.safetensors: is no safetensors file: it has 3 bytes"));
    let path = folder.write("text.safetensors", b"this is no tensor file at all");
    assert!(said(&path, None).contains("is no safetensors file: a header of"), "{}", said(&path, None));
    let path = folder.write("header.safetensors", &safetensors("[1, 2]", 0));
    assert!(said(&path, None).starts_with("header.safetensors: is no safetensors file: its header:"));
    let one = r#"{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
    let path = folder.write("cut.safetensors", &safetensors(one, 9));
    assert_eq!(said(&path, None), "cut.safetensors: is truncated: 72 bytes, its header speaks of 79");
    let path = folder.write("cut.safetensors", &safetensors(one, 16)[..30]);
    assert_eq!(said(&path, None), "cut.safetensors: is truncated: 30 bytes, its header speaks of 63");
    let path = folder.write("more.safetensors", &safetensors(one, 17));
    assert_eq!(said(&path, None), "more.safetensors: is longer than its header says: 80 bytes, not 79");
    let path = folder.write("sizes.safetensors", &safetensors(&one.replace("[4]", "[5]"), 16));
    assert!(said(&path, None).contains("invalid shape, data type, or offset"), "{}", said(&path, None));
    let bools = r#"{"x":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}}"#;
    let path = folder.write("bool.safetensors", &safetensors(bools, 4));
    assert!(said(&path, None).starts_with("bool.safetensors: elements of BOOL are not supported; expected floats"));
}

#[test]
fn bad_arrays_are_told_in_a_line() {
    let folder = Folder::new();
    let dictionary = |descr: &str, fortran: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    };
    let told = |bytes: &[u8]| said(&folder.write("x.npy", bytes), None);
    assert!(told(b"not an array, but long enough").starts_with("x.npy: is no npy file: "));
    assert_eq!(told(b"\x93NUMPY\x01\x00\x76"), "x.npy: is no npy file: its header is cut off");
    let right = npy(&dictionary("<f4", "False", "(2, 2)"), 16);
    let length = right.len();
    assert_eq!(
        told(&right[..length - 3]),
        format!("x.npy: is truncated: {} bytes, its header speaks of {length}", length - 3)
    );
    assert!(told(&npy(&dictionary("<f4", "False", "(2, 2)"), 17)).contains("is longer than its header says"));
    for descr in ["<c8", ">f4", ">i4"] {
        assert_eq!(
            told(&npy(&dictionary(descr, "False", "(1,)"), 8)),
            format!(
                "x.npy: elements of {descr} are not supported; expected floats of 16 to 64 bits or integers, little-endian"
            )
        );
    }
    assert_eq!(
        told(&npy(&dictionary("<f4", "True", "(2, 2)"), 16)),
        "x.npy: is in Fortran order; save it in C order (numpy.ascontiguousarray)"
    );
    for shape in ["(4294967296, 4294967296, 2)", "(99999999999999999999,)"] {
        assert_eq!(
            told(&npy(&dictionary("<f4", "False", shape), 8)),
            "x.npy: is no npy file: its shape has more elements than can be counted"
        );
    }
    assert!(told(&npy(&dictionary("<f4", "False", "(4294967296, 4294967295)"), 8)).contains("overflows"));
    let path = folder.write("x.npy", &right);
    assert_eq!(said(&path, Some("a")), "x.npy: has one tensor without a name; `a` can not be chosen");
}

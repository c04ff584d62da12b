//! Machine code on disk, under processes that die and files that break.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use warpsmith_runtime::cache::{Cache, Code, Key, Source};
use warpsmith_types::Target;

/// An empty folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-{name}"));
    let _ = fs::remove_dir_all(&path);
    path
}

fn key(n: usize) -> Key {
    Key::new(&format!(".entry k{n}() {{ ret; }}"), "k", Target::SM_90A, "stub", "", false)
}

/// What assembling gives; as long as a small kernel's.
fn code(n: usize) -> Code {
    Code { cubin: (0..3000 + 100 * n).map(|i| (i * 31 + n) as u8).collect(), log: format!("kernel {n}") }
}

/// Every entry of a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let inside = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|f| f.path()).collect::<Vec<_>>();
    let folders = inside(folder).into_iter().filter(|f| f.file_name().is_some_and(|n| n != "locks"));
    folders.flat_map(|f| inside(&f)).collect()
}

fn counted<'a>(n: usize, count: &'a AtomicU32) -> impl FnOnce() -> Result<Code, String> + use<'a> {
    move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(code(n))
    }
}

#[test]
fn code_is_assembled_once() {
    let path = folder("once");
    let (cache, count) = (Cache::open(&path, 1 << 20).unwrap(), AtomicU32::new(0));
    assert_eq!(cache.get_or(&key(1), counted(1, &count)), Ok((code(1), Source::Assembled)));
    assert_eq!(cache.get_or(&key(1), counted(1, &count)), Ok((code(1), Source::Disk)));
    // As another process finds it.
    let other = Cache::open(&path, 1 << 20).unwrap();
    assert_eq!(other.get_or(&key(1), counted(1, &count)), Ok((code(1), Source::Disk)));
    assert_eq!((count.load(Ordering::Relaxed), cache.counts(), other.counts()), (1, (1, 1), (1, 0)));
    assert_eq!(cache.troubles(), []);
    // What fails is not kept.
    assert_eq!(cache.get_or(&key(2), || Err("refused")), Err("refused"));
    assert_eq!(cache.get_or(&key(2), counted(2, &count)), Ok((code(2), Source::Assembled)));
}

#[test]
fn threads_wait_for_the_one_that_assembles() {
    let (cache, count) = (Cache::open(folder("threads"), 1 << 20).unwrap(), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let slow = || {
                    thread::sleep(Duration::from_millis(20));
                    counted(3, &count)()
                };
                assert_eq!(cache.get_or(&key(3), slow).unwrap().0, code(3));
            });
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn damage_is_repaired_and_told() {
    let path = folder("damage");
    let (cache, count) = (Cache::open(&path, 1 << 20).unwrap(), AtomicU32::new(0));
    cache.get_or(&key(4), counted(4, &count)).unwrap();
    let entry = entries(&path).pop().unwrap();
    fs::write(&entry, b"nonsense").unwrap();
    assert_eq!(cache.get_or(&key(4), counted(4, &count)), Ok((code(4), Source::Assembled)));
    assert_eq!(cache.get_or(&key(4), counted(4, &count)), Ok((code(4), Source::Disk)));
    let troubles = cache.troubles();
    assert_eq!((troubles.len(), &troubles[0].path), (1, &entry));
    assert!(
        troubles[0].to_string().ends_with("the entry was cut off; the kernel is assembled anew"),
        "{}",
        troubles[0]
    );
    // A driver that does not take the code.
    cache.remove(&key(4), "the driver refuses the code");
    assert_eq!(cache.get_or(&key(4), counted(4, &count)), Ok((code(4), Source::Assembled)));
}

#[test]
fn a_folder_that_does_not_work_fails_nothing() {
    let path = folder("broken");
    let (cache, count) = (Cache::open(&path, 1 << 20).unwrap(), AtomicU32::new(0));
    // Files where folders should be.
    let name = key(5).to_string();
    fs::write(path.join(&name[..2]), b"").unwrap();
    fs::remove_dir_all(path.join("locks")).unwrap();
    fs::write(path.join("locks"), b"").unwrap();
    for _ in 0..2 {
        assert_eq!(cache.get_or(&key(5), counted(5, &count)), Ok((code(5), Source::Assembled)));
    }
    let said: Vec<String> = cache.troubles().iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|t| t.contains("can not be locked")), "{said:?}");
    assert!(said.len() >= 2, "{said:?}");
}

#[test]
fn what_is_used_stays_when_room_runs_out() {
    let path = folder("room");
    let room = 400_000;
    let (cache, count) = (Cache::open(&path, room).unwrap(), AtomicU32::new(0));
    let old = std::time::SystemTime::now() - Duration::from_secs(7200);
    for n in 0..200 {
        cache.get_or(&key(n), counted(n, &count)).unwrap();
        // All but the first were last used long ago, and the latest latest.
        for entry in entries(&path) {
            let file = File::options().write(true).open(&entry).unwrap();
            if file.metadata().unwrap().modified().unwrap() > old + Duration::from_secs(3600) {
                file.set_modified(old + Duration::from_secs(n as u64)).unwrap();
            }
        }
        assert_eq!(cache.get_or(&key(0), counted(0, &count)).unwrap().1, Source::Disk, "after {n}");
    }
    let bytes: u64 = entries(&path).iter().map(|e| e.metadata().unwrap().len()).sum();
    assert!(bytes <= room + room / 5, "{bytes} bytes");
    assert_eq!(count.load(Ordering::Relaxed), 200);
    assert_eq!(cache.get_or(&key(1), counted(1, &count)).unwrap().1, Source::Assembled);
    assert_eq!(cache.get_or(&key(199), counted(199, &count)).unwrap().1, Source::Disk);
}

#[cfg(unix)]
#[test]
fn the_folder_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let path = folder("mode");
    let cache = Cache::open(&path, 1 << 20).unwrap();
    cache.get_or(&key(6), || Ok::<_, String>(code(6))).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&entries(&path)[0])), (0o700, 0o600));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = Cache::open(&path, 1 << 20).unwrap_err();
    assert!(refused.to_string().contains("others may write to the folder; its code would run here"), "{refused}");
}

const PROCESSES: usize = 8;
const THREADS: usize = 8;
const KERNELS: usize = 50;
/// How often each thread wants each.
const ROUNDS: usize = 40;
/// The variable that tells a worker its folder.
const FOLDER: &str = "WARPSMITH_TEST_TORTURE";

/// One of the processes; run by the test below.
#[test]
#[ignore = "a part of `torture`"]
fn worker() {
    let Some(root) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let cache = Cache::open(root.join("cache"), 1 << 30).unwrap();
    let seed = std::process::id() as usize;
    thread::scope(|scope| {
        for t in 0..THREADS {
            let (root, cache) = (&root, &cache);
            scope.spawn(move || {
                for i in 0..ROUNDS * KERNELS {
                    let n = (i * 7 + i / KERNELS + t * 13 + seed) % KERNELS;
                    let (found, _) = cache.get_or(&key(n), || stub(root, n)).unwrap();
                    if found != code(n) {
                        note(root, &format!("kernel {n} has another's code"));
                    }
                }
            });
        }
    });
}

/// An assembler that notices when somebody else is at the same kernel: the lock goes with the process.
fn stub(root: &Path, n: usize) -> Result<Code, String> {
    let busy = OpenOptions::new().create(true).append(true).open(root.join(format!("busy-{n}"))).unwrap();
    if busy.try_lock().is_err() {
        note(root, &format!("kernel {n} is assembled twice at a time"));
    }
    thread::sleep(Duration::from_micros((n as u64 * 97) % 3000));
    let mut log = OpenOptions::new().create(true).append(true).open(root.join("assembled")).unwrap();
    log.write_all(b".").unwrap();
    Ok(code(n))
}

fn note(root: &Path, problem: &str) {
    let mut log = OpenOptions::new().create(true).append(true).open(root.join("problems")).unwrap();
    writeln!(log, "{problem}").unwrap();
}

fn start(root: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker", "--ignored", "--quiet"]).env(FOLDER, root).stdout(Stdio::null());
    command.spawn().unwrap()
}

/// Eight processes of eight threads want fifty kernels, while some are killed and entries are cut off and bent.
#[test]
fn torture() {
    let root = folder("torture");
    fs::create_dir_all(&root).unwrap();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % n
    };
    let mut processes: Vec<Child> = (0..PROCESSES).map(|_| start(&root)).collect();
    let mut killed = 0;
    for _ in 0..60 {
        thread::sleep(Duration::from_millis(next(20) as u64));
        let all = entries(&root.join("cache"));
        if !all.is_empty() {
            let entry = &all[next(all.len())];
            match (fs::read(entry), next(2)) {
                (Ok(bytes), 0) => fs::write(entry, &bytes[..bytes.len() / 2]).unwrap(),
                (Ok(mut bytes), _) if !bytes.is_empty() => {
                    let at = next(bytes.len());
                    bytes[at] ^= 1 << next(8);
                    fs::write(entry, bytes).unwrap();
                }
                // Replaced or removed meanwhile.
                _ => {}
            }
        }
        if next(3) == 0 {
            let process = &mut processes[next(PROCESSES)];
            let ended = process.try_wait().unwrap();
            if ended.is_none() {
                process.kill().unwrap();
                killed += 1;
            }
            let status = process.wait().unwrap();
            assert!(ended.is_none() || status.success(), "{status}");
            *process = start(&root);
        }
    }
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let problems = fs::read_to_string(root.join("problems")).unwrap_or_default();
    assert_eq!(problems, "");
    let assembled = fs::read(root.join("assembled")).unwrap().len();
    assert!(assembled >= KERNELS && killed > 0, "{assembled} assembled, {killed} killed");
    // Whoever comes last finds what is whole, and repairs the rest.
    assert!(start(&root).wait().unwrap().success());
    let cache = Cache::open(root.join("cache"), 1 << 30).unwrap();
    for n in 0..KERNELS {
        assert_eq!(cache.get_or(&key(n), || Err(n)), Ok((code(n), Source::Disk)));
    }
}

//! What is found on this machine, what is missing, and what that costs.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use warpsmith_runtime::{Device, DeviceInfo, DriverVersion};

/// What was found.
pub(crate) struct Examination {
    driver: Result<DriverVersion, String>,
    cards: Result<Vec<DeviceInfo>, String>,
    ptxas: Tool,
    nvdisasm: Tool,
    cache: Option<PathBuf>,
}

/// A program of NVIDIA's.
struct Tool {
    name: &'static str,
    /// The variable that says where it is.
    variable: &'static str,
    /// Where it is, and what it says of itself.
    found: Result<(PathBuf, String), Missing>,
}

#[derive(Debug, PartialEq)]
enum Missing {
    /// The variable is set, to something that is no file.
    Set(PathBuf),
    /// It is nowhere on the path.
    Unset,
}

/// Looks around. Starts no card and writes nothing.
pub(crate) fn examine() -> Examination {
    Examination {
        driver: Device::cuda_driver().map_err(|e| e.to_string()),
        cards: Device::cuda_cards().map_err(|e| e.to_string()),
        ptxas: Tool::look_for("ptxas", "WARPSMITH_PTXAS"),
        nvdisasm: Tool::look_for("nvdisasm", "WARPSMITH_NVDISASM"),
        cache: cache_folder(),
    }
}

impl Examination {
    /// Whether kernels can run on a card here.
    pub(crate) fn has_card(&self) -> bool {
        self.cards.as_ref().is_ok_and(|cards| !cards.is_empty())
    }
}

impl Tool {
    fn look_for(name: &'static str, variable: &'static str) -> Tool {
        let set = env::var_os(variable).filter(|v| !v.is_empty());
        let found = locate(name, set.as_deref(), env::var_os("PATH").as_deref())
            .map(|path| (path.clone(), version(&path).unwrap_or_else(|| "does not run".into())));
        Tool { name, variable, found }
    }
}

/// The file that the variable names, else the first on the path.
fn locate(name: &str, set: Option<&OsStr>, path: Option<&OsStr>) -> Result<PathBuf, Missing> {
    if let Some(set) = set {
        let file = PathBuf::from(set);
        return if file.is_file() { Ok(file) } else { Err(Missing::Set(file)) };
    }
    path.and_then(|p| env::split_paths(p).map(|folder| folder.join(name)).find(|file| file.is_file()))
        .ok_or(Missing::Unset)
}

/// What `--version` says of the release.
fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    release(&String::from_utf8_lossy(&output.stdout))
}

/// From "Cuda compilation tools, release 13.0, V13.0.48" what comes after the first comma.
fn release(text: &str) -> Option<String> {
    let line = text.lines().find(|l| l.contains("release"))?;
    Some(line.split_once(", ").map_or(line, |(_, rest)| rest).trim().into())
}

/// Where compiled kernels would be kept between runs; `None` when `WARPSMITH_CACHE=off`.
fn cache_folder() -> Option<PathBuf> {
    match env::var_os("WARPSMITH_CACHE") {
        Some(v) if v == "off" => None,
        Some(v) if !v.is_empty() => Some(v.into()),
        _ => env::var_os("XDG_CACHE_HOME")
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))
            .map(|folder| folder.join("warpsmith")),
    }
}

impl fmt::Display for Examination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.driver {
            Ok(version) => line(f, "driver", &version.to_string())?,
            Err(e) => line(f, "driver", e)?,
        }
        match &self.cards {
            Ok(cards) => {
                for card in cards {
                    line(f, &card.id.to_string(), &describe(card))?;
                }
                if cards.is_empty() {
                    line(f, "cards", "none")?;
                }
            }
            // Without a driver its line has said so.
            Err(_) if self.driver.is_err() => {}
            Err(e) => line(f, "cards", e)?,
        }
        if !self.has_card() {
            cost(f, "kernels run on the emulated device: right and checked, but slow; nothing can be timed")?;
        }
        self.ptxas.write(f, "kernels are compiled by the driver alone; without a driver, none is assembled")?;
        self.nvdisasm.write(f, "machine code can not be shown")?;
        match &self.cache {
            None => line(f, "cache", "off (WARPSMITH_CACHE)"),
            Some(folder) => match contents(folder) {
                Some((files, bytes)) => {
                    line(f, "cache", &format!("{}: {files} files, {}", folder.display(), size(bytes)))
                }
                None => line(f, "cache", &format!("{}: not made; compiled kernels are in memory", folder.display())),
            },
        }
    }
}

impl Tool {
    fn write(&self, f: &mut fmt::Formatter<'_>, without: &str) -> fmt::Result {
        match &self.found {
            Ok((path, version)) => line(f, self.name, &format!("{}, {version}", path.display())),
            Err(Missing::Set(path)) => {
                line(f, self.name, &format!("{} is {}, where there is no file", self.variable, path.display()))?;
                cost(f, without)
            }
            Err(Missing::Unset) => {
                line(f, self.name, &format!("not found on PATH, and {} is not set", self.variable))?;
                cost(f, without)
            }
        }
    }
}

fn line(f: &mut fmt::Formatter<'_>, what: &str, text: &str) -> fmt::Result {
    writeln!(f, "{what:<10}{text}")
}

/// What the line before it costs.
fn cost(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    writeln!(f, "{:<10}so {text}", "")
}

fn describe(card: &DeviceInfo) -> String {
    let chip = &card.chip;
    format!(
        "{}: {}, {} of memory, {} multiprocessors, {} of L2, {} of shared memory a block",
        card.name,
        chip.target,
        size(card.memory.unwrap_or(0)),
        chip.multiprocessors,
        size(chip.l2),
        size(chip.shared_per_block.into()),
    )
}

/// Files and bytes in a folder; `None` when there is none.
fn contents(folder: &Path) -> Option<(usize, u64)> {
    let files = std::fs::read_dir(folder).ok()?.flatten().filter_map(|e| e.metadata().ok()).filter(|m| m.is_file());
    Some(files.fold((0, 0), |(n, bytes), m| (n + 1, bytes + m.len())))
}

fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 => format!("{:.1} GiB", b as f64 / (1u64 << 30) as f64),
        b if b >= 1 << 20 => format!("{} MiB", b >> 20),
        b => format!("{} KiB", b.div_ceil(1 << 10)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_runtime::DeviceId;
    use warpsmith_types::Chip;

    fn bare() -> Examination {
        Examination {
            driver: Err("no CUDA driver found".into()),
            cards: Err("no CUDA driver found".into()),
            ptxas: Tool { name: "ptxas", variable: "WARPSMITH_PTXAS", found: Err(Missing::Unset) },
            nvdisasm: Tool { name: "nvdisasm", variable: "WARPSMITH_NVDISASM", found: Err(Missing::Unset) },
            cache: None,
        }
    }

    #[test]
    fn a_bare_machine_is_told_what_it_misses() {
        let text = bare().to_string();
        assert_eq!(
            text,
            "driver    no CUDA driver found\n          \
             so kernels run on the emulated device: right and checked, but slow; nothing can be timed\n\
             ptxas     not found on PATH, and WARPSMITH_PTXAS is not set\n          \
             so kernels are compiled by the driver alone; without a driver, none is assembled\n\
             nvdisasm  not found on PATH, and WARPSMITH_NVDISASM is not set\n          \
             so machine code can not be shown\n\
             cache     off (WARPSMITH_CACHE)\n"
        );
    }

    #[test]
    fn a_card_is_described() {
        let card = DeviceInfo {
            id: DeviceId::Cuda(0),
            name: "NVIDIA H200".into(),
            chip: Chip::H200,
            memory: Some(140 << 30),
            driver: None,
        };
        let found = Ok((PathBuf::from("/bin/ptxas"), "release 13.0, V13.0.48".into()));
        let there = Examination {
            driver: Ok(DriverVersion { major: 13, minor: 0 }),
            cards: Ok(vec![card]),
            ptxas: Tool { name: "ptxas", variable: "WARPSMITH_PTXAS", found },
            ..bare()
        };
        let text = there.to_string();
        assert!(there.has_card());
        assert!(text.starts_with(
            "driver    CUDA 13.0\n\
             cuda:0    NVIDIA H200: sm_90a, 140.0 GiB of memory, 132 multiprocessors, 60 MiB of L2, 227 KiB of shared \
             memory a block\n\
             ptxas     /bin/ptxas, release 13.0, V13.0.48\n"
        ));
    }

    #[test]
    fn a_variable_goes_before_the_path() {
        let here = env::current_exe().unwrap();
        let (folder, name) = (here.parent().unwrap(), here.file_name().unwrap().to_str().unwrap());
        assert_eq!(locate(name, None, Some(folder.as_os_str())), Ok(here.clone()));
        assert_eq!(locate("x", Some(here.as_os_str()), None), Ok(here.clone()));
        assert_eq!(locate(name, Some(OsStr::new("/no/such")), None), Err(Missing::Set("/no/such".into())));
        assert_eq!(locate("no-such-program", None, Some(folder.as_os_str())), Err(Missing::Unset));
        assert_eq!(
            release("ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V13.0.48\n"),
            Some("release 13.0, V13.0.48".into())
        );
    }
}

//! What is found on this machine, what is missing, and what that costs.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use warpsmith_runtime::report::{Tool, ToolError};
use warpsmith_runtime::{Device, DeviceInfo, DriverVersion};

/// What was found.
pub(crate) struct Examination {
    driver: Result<DriverVersion, String>,
    cards: Result<Vec<DeviceInfo>, String>,
    ptxas: Found,
    nvdisasm: Found,
    cache: Option<PathBuf>,
}

/// A program of NVIDIA's: where it is and what it says of itself.
struct Found {
    tool: Tool,
    place: Result<(PathBuf, String), ToolError>,
}

/// Looks around. Starts no card and writes nothing.
pub(crate) fn examine() -> Examination {
    Examination {
        driver: Device::cuda_driver().map_err(|e| e.to_string()),
        cards: Device::cuda_cards().map_err(|e| e.to_string()),
        ptxas: Found::look_for(Tool::Ptxas),
        nvdisasm: Found::look_for(Tool::Nvdisasm),
        cache: cache_folder(),
    }
}

impl Examination {
    /// Whether kernels can run on a card here.
    pub(crate) fn has_card(&self) -> bool {
        self.cards.as_ref().is_ok_and(|cards| !cards.is_empty())
    }
}

impl Found {
    fn look_for(tool: Tool) -> Found {
        let place = tool.find().and_then(|path| Ok((path.clone(), tool.version(&path)?)));
        Found { tool, place }
    }
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
        self.ptxas.write(f)?;
        self.nvdisasm.write(f)?;
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

impl Found {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, variable) = (self.tool.name(), self.tool.variable());
        match &self.place {
            Ok((path, version)) => return line(f, name, &format!("{}, {version}", path.display())),
            Err(ToolError::Missing { .. }) => line(
                f,
                name,
                &format!(
                    "not found on PATH or in CUDA_HOME, and {variable} is not set; scripts/fetch_ptxas.sh fetches it"
                ),
            )?,
            Err(other) => line(f, name, &other.to_string())?,
        }
        cost(f, self.tool.cost())
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
            ptxas: Found { tool: Tool::Ptxas, place: Err(ToolError::Missing { tool: Tool::Ptxas }) },
            nvdisasm: Found {
                tool: Tool::Nvdisasm,
                place: Err(ToolError::NoFile { tool: Tool::Nvdisasm, path: "/no/such".into() }),
            },
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
             ptxas     not found on PATH or in CUDA_HOME, and WARPSMITH_PTXAS is not set; scripts/fetch_ptxas.sh fetches it\n          \
             so kernels are compiled by a card's driver alone, and for that card; tests of machine code skip\n\
             nvdisasm  WARPSMITH_NVDISASM is /no/such, where there is no file\n          \
             so machine code can not be shown, and tests of it skip\n\
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
        let place = Ok((PathBuf::from("/bin/ptxas"), "release 13.0, V13.0.48".into()));
        let there = Examination {
            driver: Ok(DriverVersion { major: 13, minor: 0 }),
            cards: Ok(vec![card]),
            ptxas: Found { tool: Tool::Ptxas, place },
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
}

//! Names of packages, which every distribution chooses for itself.

use std::fs;
use std::path::Path;

/// Programs that install packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Apt,
    Dnf,
    Pacman,
    Apk,
    Zypper,
}

/// The distribution that this machine runs.
#[derive(Debug)]
pub(super) struct Distribution {
    /// `None` if its packages are not known here.
    manager: Option<Manager>,
    /// Clang's runtime is a package of its own: since Debian 12 and Ubuntu 23.
    split_runtime: bool,
    /// Before a command that installs: `sudo `, or nothing for root.
    prefix: &'static str,
}

impl Distribution {
    pub(super) fn read() -> Self {
        let text = ["/etc/os-release", "/usr/lib/os-release"]
            .into_iter()
            .find_map(|path| fs::read_to_string(path).ok())
            .unwrap_or_default();
        let prefix = if rustix::process::geteuid().is_root() { "" } else { "sudo " };
        Self { prefix, ..Self::of(&text) }
    }

    /// From the text of os-release(5).
    fn of(text: &str) -> Self {
        let value = |key: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix('='));
            line.unwrap_or_default().trim().trim_matches(['"', '\'']).to_owned()
        };
        let id = value("ID");
        let names = format!("{id} {}", value("ID_LIKE"));
        let manager = names.split_whitespace().find_map(|name| match name {
            "debian" | "ubuntu" => Some(Manager::Apt),
            "fedora" | "rhel" | "centos" => Some(Manager::Dnf),
            "arch" => Some(Manager::Pacman),
            "alpine" => Some(Manager::Apk),
            "suse" | "opensuse" | "opensuse-leap" | "opensuse-tumbleweed" => Some(Manager::Zypper),
            _ => None,
        });
        let major = value("VERSION_ID").split('.').next().and_then(|n| n.parse::<u32>().ok());
        let old = match id.as_str() {
            "debian" => major.is_some_and(|n| n < 12),
            "ubuntu" => major.is_some_and(|n| n < 23),
            _ => false,
        };
        Self { manager, split_runtime: !old, prefix: "" }
    }

    /// The command that installs a tool, if its package is known.
    pub(super) fn install(&self, tool: &str) -> Option<String> {
        let manager = self.manager?;
        Some(self.command(manager, &package(manager, tool, self.split_runtime)?))
    }

    /// The command that installs the profile runtime of a clang that is there.
    pub(super) fn clang_runtime(&self, clang: &Path) -> Option<String> {
        let name = clang.file_name()?.to_string_lossy().into_owned();
        match (self.manager?, name.strip_prefix("clang-")) {
            (Manager::Apt, Some(release)) if self.split_runtime => {
                Some(self.command(Manager::Apt, &format!("libclang-rt-{release}-dev")))
            }
            _ => self.install("llvm"),
        }
    }

    fn command(&self, manager: Manager, packages: &str) -> String {
        let install = match manager {
            Manager::Apt => "apt-get install",
            Manager::Dnf => "dnf install",
            Manager::Pacman => "pacman -S",
            Manager::Apk => "apk add",
            Manager::Zypper => "zypper install",
        };
        format!("{}{install} {packages}", self.prefix)
    }
}

/// The packages that a tool comes in, with all that it needs to be of use.
fn package(manager: Manager, tool: &str, split_runtime: bool) -> Option<String> {
    use Manager::{Apk, Apt, Dnf, Pacman, Zypper};
    let name = match (tool, manager) {
        ("gcc", Apt) => "gcc libc6-dev",
        ("gcc", Dnf | Zypper) => "gcc glibc-devel",
        ("gcc", Apk) => "gcc musl-dev",
        ("llvm", Apt) if split_runtime => "clang llvm libclang-rt-dev",
        ("llvm", Apt | Zypper) => "clang llvm",
        ("llvm", Dnf | Pacman | Apk) => "clang llvm compiler-rt",
        ("ninja", Apt | Dnf) => "ninja-build",
        ("autoreconf", _) => "autoconf automake libtool",
        ("clang" | "gcc" | "make" | "cmake" | "meson" | "ninja", _) => tool,
        ("automake" | "git" | "valgrind" | "stress-ng", _) => tool,
        _ => return compiler_package(manager, tool),
    };
    Some(name.to_owned())
}

/// `gcc-13`, `clang-22`, `aarch64-linux-gnu-gcc`: Debian's packages are named after them.
fn compiler_package(manager: Manager, tool: &str) -> Option<String> {
    let plain = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    if manager != Manager::Apt || !plain(tool) || tool.starts_with('-') {
        return None;
    }
    let release = |name: &str| tool.strip_prefix(name).is_some_and(|n| n.parse::<u32>().is_ok());
    if release("gcc-") || release("clang-") {
        return Some(tool.to_owned());
    }
    let target = tool.strip_suffix("-gcc")?;
    Some(format!("gcc-{}", target.replace('_', "-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llvm(os_release: &str) -> Option<String> {
        Distribution::of(os_release).install("llvm")
    }

    #[test]
    fn each_distribution_is_told_its_own_command() {
        for (text, command) in [
            ("ID=debian\nVERSION_ID=\"12\"\n", "apt-get install clang llvm libclang-rt-dev"),
            ("ID=debian\nVERSION_ID=\"11\"\n", "apt-get install clang llvm"),
            ("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\n", "apt-get install clang llvm"),
            (
                "NAME=x\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=22\n",
                "apt-get install clang llvm libclang-rt-dev",
            ),
            ("ID=fedora\n", "dnf install clang llvm compiler-rt"),
            (
                "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
                "dnf install clang llvm compiler-rt",
            ),
            ("ID=arch\n", "pacman -S clang llvm compiler-rt"),
            ("ID=alpine\n", "apk add clang llvm compiler-rt"),
            (
                "ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n",
                "zypper install clang llvm",
            ),
        ] {
            assert_eq!(llvm(text).as_deref(), Some(command), "{text}");
        }
        assert_eq!(llvm("ID=plan9\n"), None);
        assert_eq!(llvm(""), None);
    }

    #[test]
    fn packages_of_single_compilers_are_known_where_they_are_named_after_them() {
        let debian = Distribution::of("ID=debian\nVERSION_ID=12\n");
        let fedora = Distribution::of("ID=fedora\n");
        assert_eq!(debian.install("gcc-13").unwrap(), "apt-get install gcc-13");
        assert_eq!(
            debian.install("x86_64-linux-gnu-gcc").unwrap(),
            "apt-get install gcc-x86-64-linux-gnu"
        );
        assert_eq!(fedora.install("gcc-13"), None);
        assert_eq!(debian.install("/opt/x; rm -rf gcc-1"), None);
        let runtime = debian.clang_runtime(Path::new("/usr/bin/clang-22")).unwrap();
        assert_eq!(runtime, "apt-get install libclang-rt-22-dev");
    }
}

//! What surrounds the CPUs: memory settings, mitigations, hypervisor, control groups and power.

use super::cpu::field;
use super::files::{Files, downward};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Settings and state of memory that a run's speed depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub thp: Option<String>,
    /// Whether equal pages are looked for and merged in the background (KSM).
    pub ksm: Option<bool>,
    /// Whether pages are moved between NUMA nodes in the background.
    pub numa_balancing: Option<bool>,
    /// Swap in use, in bytes.
    pub swap_used_bytes: Option<u64>,
}

impl Memory {
    pub(super) fn read(files: &Files) -> Self {
        let meminfo = files.text("proc/meminfo").unwrap_or_default();
        let kib = |key| field(&meminfo, key)?.split_whitespace().next()?.parse::<u64>().ok();
        let used = || kib("SwapTotal")?.checked_sub(kib("SwapFree")?)?.checked_mul(1024);
        Self {
            thp: files
                .text("sys/kernel/mm/transparent_hugepage/enabled")
                .as_deref()
                .and_then(chosen),
            // 2 stops it and undoes what was merged.
            ksm: files.number::<u8>("sys/kernel/mm/ksm/run").map(|run| run == 1),
            numa_balancing: files.switch("proc/sys/kernel/numa_balancing"),
            swap_used_bytes: used(),
        }
    }
}

/// The word in brackets, by which the kernel marks the choice among all.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

/// What the kernel says of each weakness that the CPU has; those that it has not are left out.
pub(super) fn mitigations(files: &Files) -> BTreeMap<String, String> {
    const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
    let names = files.names(FOLDER).into_iter();
    let said = names.filter_map(|name| Some((files.word(format!("{FOLDER}/{name}"))?, name)));
    said.filter(|(said, _)| said != "Not affected").map(|(said, name)| (name, said)).collect()
}

/// Whether the machine is a virtual one, and by whom as far as it says. x86 has a CPU flag for it;
/// where there is none the maker's name must tell.
pub(super) fn hypervisor(files: &Files, cpuinfo: &str) -> (bool, Option<String>) {
    let dmi = |name: &str| files.word(format!("sys/class/dmi/id/{name}"));
    let maker = dmi("sys_vendor").map(|vendor| match dmi("product_name") {
        Some(product) if product != vendor => format!("{vendor} {product}"),
        _ => vendor,
    });
    let flags = field(cpuinfo, "flags").unwrap_or_default();
    let flagged = flags.split_whitespace().any(|flag| flag == "hypervisor");
    let told = files
        .word("sys/hypervisor/type")
        .or_else(|| files.word("proc/device-tree/hypervisor/compatible"));
    let by_name = maker.as_deref().is_some_and(is_virtual_maker);
    let is_virtual = flagged || told.is_some() || by_name;
    (is_virtual, told.or(maker).filter(|_| is_virtual))
}

/// Makers whose every machine is virtual. (Amazon's and Google's may be bare metal.)
fn is_virtual_maker(maker: &str) -> bool {
    const MAKERS: [&str; 7] =
        ["QEMU", "KVM", "VMware", "Xen", "innotek", "Parallels", "Apple Virtualization"];
    MAKERS.iter().any(|name| maker.contains(name))
}

/// Whether the marks are there that container engines leave.
pub(super) fn container(files: &Files) -> bool {
    ["run/.containerenv", ".dockerenv", "run/systemd/container"].iter().any(|m| files.exists(m))
}

/// Whether the machine runs from its battery; `None` if it has none or does not say.
pub(super) fn on_battery(files: &Files) -> Option<bool> {
    const FOLDER: &str = "sys/class/power_supply";
    let (mut discharging, mut plugged) = (None, None);
    for name in files.names(FOLDER) {
        let said = |file: &str| files.word(format!("{FOLDER}/{name}/{file}"));
        match said("type").as_deref() {
            // That of a mouse says nothing of the machine.
            Some("Battery") if said("scope").as_deref() != Some("Device") => {
                let state = said("status").map(|status| status == "Discharging");
                discharging = discharging.max(state);
            }
            Some("Mains" | "USB") => {
                plugged = plugged.max(said("online").map(|online| online != "0"));
            }
            _ => {}
        }
    }
    // A desktop without a battery is plugged in whatever its USB ports say.
    discharging.map(|empties| empties && plugged != Some(true))
}

/// The tightest limit of CPU time over a control group and those above it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quota {
    /// CPUs' worth of time.
    pub(super) cpus: f64,
    /// Folder of the group that has it, relative to the root.
    pub(super) folder: PathBuf,
}

impl Quota {
    /// That of this process.
    pub(super) fn read(files: &Files) -> Option<Self> {
        let groups = files.text("proc/self/cgroup")?;
        let mut tightest: Option<Self> = None;
        for line in groups.lines() {
            let mut fields = line.splitn(3, ':');
            let (Some(_), Some(kind), Some(path)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let found = hierarchies(kind).iter().filter_map(|top| above(files, top, path));
            tightest = found.chain(tightest).min_by(|a, b| a.cpus.total_cmp(&b.cpus));
        }
        tightest
    }
}

/// Where the hierarchy of these controllers may be mounted; version 2 has no controllers' names.
fn hierarchies(kind: &str) -> &'static [&'static str] {
    if kind.is_empty() {
        &["sys/fs/cgroup", "sys/fs/cgroup/unified"]
    } else if kind.split(',').any(|controller| controller == "cpu") {
        &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"]
    } else {
        &[]
    }
}

/// The tightest quota from the group at `path` up to the top. A container may not see the folders
/// between; those are passed over.
fn above(files: &Files, top: &str, path: &str) -> Option<Quota> {
    let path = downward(path);
    let quotas = path.ancestors().filter_map(|group| {
        let folder = PathBuf::from(top).join(group);
        let cpus = quota_v2(files, &folder).or_else(|| quota_v1(files, &folder))?;
        Some(Quota { cpus, folder })
    });
    quotas.min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

/// `cpu.max`: the time and the period in µs, or `max` for no limit.
fn quota_v2(files: &Files, folder: &std::path::Path) -> Option<f64> {
    let text = files.text(folder.join("cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    share(quota.parse().ok()?, period.trim().parse().ok()?)
}

/// Version 1 has two files, and -1 for no limit.
fn quota_v1(files: &Files, folder: &std::path::Path) -> Option<f64> {
    let quota: i64 = files.number(folder.join("cpu.cfs_quota_us"))?;
    share(u64::try_from(quota).ok()?, files.number(folder.join("cpu.cfs_period_us"))?)
}

fn share(quota_us: u64, period_us: u64) -> Option<f64> {
    (period_us > 0).then(|| quota_us as f64 / period_us as f64)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::tree;
    use super::*;

    fn quota(text: &str) -> Option<(f64, PathBuf)> {
        Quota::read(&Files::below(tree(text).path())).map(|quota| (quota.cpus, quota.folder))
    }

    #[test]
    fn the_tightest_quota_on_the_way_up_counts() {
        let text = "== proc/self/cgroup\n0::/a/b\n== sys/fs/cgroup/a/b/cpu.max\n400000 100000\n\
                    == sys/fs/cgroup/a/cpu.max\n150000 100000\n== sys/fs/cgroup/cpu.max\nmax 100000";
        assert_eq!(quota(text), Some((1.5, "sys/fs/cgroup/a".into())));
    }

    #[test]
    fn version_1_has_a_quota_too_and_minus_one_is_none() {
        let text = |us: &str| {
            format!(
                "== proc/self/cgroup\n3:cpuset:/c\n2:cpu,cpuacct:/docker/c\n\
                 == sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us\n{us}\n\
                 == sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us\n100000"
            )
        };
        // A container does not see the folder that its path names.
        assert_eq!(quota(&text("50000")), Some((0.5, "sys/fs/cgroup/cpu,cpuacct".into())));
        assert_eq!(quota(&text("-1")), None);
        assert_eq!(quota(""), None);
    }

    #[test]
    fn a_groups_path_does_not_lead_out_of_the_tree() {
        let text = "== proc/self/cgroup\n0::/../../../outside\n== outside/cpu.max\n1 100000\n\
                    == sys/fs/cgroup/cpu.max\nmax 100000";
        assert_eq!(quota(text), None);
    }

    #[test]
    fn only_the_machines_own_battery_counts() {
        let supply = |name: &str, kind: &str, rest: &str| {
            format!("== sys/class/power_supply/{name}/type\n{kind}\n{rest}")
        };
        let status =
            |name: &str, text: &str| format!("== sys/class/power_supply/{name}/status\n{text}\n");
        let battery = |text: &str| supply("BAT0", "Battery", &status("BAT0", text));
        let mains = |online: u8| {
            supply("AC", "Mains", &format!("== sys/class/power_supply/AC/online\n{online}\n"))
        };
        let mouse = supply("hid", "Battery", &status("hid", "Discharging"))
            + "== sys/class/power_supply/hid/scope\nDevice\n";
        let read = |text: &str| on_battery(&Files::below(tree(text).path()));
        assert_eq!(read(&(battery("Discharging") + &mains(0))), Some(true));
        assert_eq!(read(&battery("Discharging")), Some(true));
        assert_eq!(read(&(battery("Discharging") + &mains(1))), Some(false));
        assert_eq!(read(&(battery("Full") + &mains(1))), Some(false));
        assert_eq!(read(&mouse), None);
        assert_eq!(read(&(mouse.clone() + &mains(0))), None);
    }

    #[test]
    fn a_guest_without_the_cpu_flag_is_known_by_its_maker() {
        let dmi = |vendor: &str, product: &str| {
            format!(
                "== sys/class/dmi/id/sys_vendor\n{vendor}\n== sys/class/dmi/id/product_name\n{product}"
            )
        };
        let read = |text: &str| hypervisor(&Files::below(tree(text).path()), "flags\t: fpu sse2");
        let guest = (true, Some("QEMU KVM Virtual Machine".to_owned()));
        assert_eq!(read(&dmi("QEMU", "KVM Virtual Machine")), guest);
        assert_eq!(read(&dmi("Dell Inc.", "Latitude")), (false, None));
        let flag = |text: &str| hypervisor(&Files::below(tree("").path()), text).0;
        assert!(flag("flags : fpu hypervisor sse"));
        assert!(!flag("flags : fpu hypervisor2 sse"));
    }

    #[test]
    fn the_choice_is_the_word_in_brackets() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!((chosen("always madvise"), chosen("[always")), (None, None));
    }
}

//! The machine in five lines. What is unknown is left out.

use unlikely_measure::Machine;

/// Name and text of each line.
pub(super) fn lines(machine: &Machine) -> Vec<(&'static str, String)> {
    let all = [
        ("cpu", cpu(machine)),
        ("clock", clock(machine)),
        ("kernel", kernel(machine)),
        ("place", place(machine)),
        ("now", now(machine)),
    ];
    let parts = all.into_iter().map(|(name, parts)| (name, parts.join(", ")));
    parts.filter(|(_, text)| !text.is_empty()).collect()
}

fn cpu(machine: &Machine) -> Vec<String> {
    let cpus = &machine.cpus;
    let mut parts = vec![machine.cpu.clone()];
    parts.extend(cpus.online.as_ref().map(|list| format!("CPUs {list} online")));
    parts.extend(named("isolated", cpus.isolated.as_deref()));
    parts.extend(named("nohz_full", cpus.nohz_full.as_deref()));
    parts.extend(cpus.smt.map(|smt| format!("SMT {}", on(smt))));
    parts.extend(cpus.microcode.as_ref().map(|version| format!("microcode {version}")));
    parts
}

fn clock(machine: &Machine) -> Vec<String> {
    let (frequency, idle) = (&machine.frequency, &machine.idle);
    let mut parts = vec![format!("turbo {}", machine.turbo)];
    if !machine.governors.is_empty() {
        let driver = frequency.driver.as_ref().map(|name| format!(" ({name})"));
        let driver = driver.unwrap_or_default();
        parts.push(format!("governor {}{driver}", machine.governors.join("/")));
    }
    if let (Some(min), Some(max)) = (frequency.min_khz, frequency.max_khz) {
        let (min, max) = (min / 1000, max / 1000);
        let range = if min == max { format!("{max} MHz") } else { format!("{min} to {max} MHz") };
        parts.push(range);
    }
    if let (Some(name), Some(us)) = (&idle.deepest, idle.latency_us) {
        parts.push(format!("deepest sleep {name} ({us} \u{b5}s to wake)"));
    }
    parts
}

fn kernel(machine: &Machine) -> Vec<String> {
    let mut parts = vec![format!("Linux {}", machine.kernel)];
    parts.extend(named("clock source", machine.clock_source.as_deref()));
    parts.extend(machine.aslr.map(|level| match level {
        0 => "ASLR off".to_owned(),
        1 => "ASLR without heap".to_owned(),
        _ => "ASLR on".to_owned(),
    }));
    parts.extend(named("huge pages", machine.memory.thp.as_deref()));
    if !machine.mitigations.is_empty() {
        let said = machine.mitigations.values();
        let open = said.filter(|text| text.starts_with("Vulnerable")).count();
        let closed = machine.mitigations.len() - open;
        parts.push(format!("{closed} mitigation(s) on, {open} weakness(es) open"));
    }
    parts
}

fn place(machine: &Machine) -> Vec<String> {
    let mut parts = Vec::new();
    parts.push(match (machine.hypervisor, &machine.hypervisor_name) {
        (false, _) => "no hypervisor seen".to_owned(),
        (true, None) => "virtual machine".to_owned(),
        (true, Some(name)) => format!("virtual machine ({name})"),
    });
    parts.extend(machine.container.then(|| "container".to_owned()));
    if machine.cpus.affinity != machine.cpus.online {
        parts.extend(machine.cpus.affinity.as_ref().map(|list| format!("may use CPUs {list}")));
    }
    parts.extend(machine.cpus.quota.map(|cpus| format!("quota of {cpus:.2} CPUs")));
    let power = machine.on_battery.map(|on| if on { "on battery" } else { "plugged in" });
    parts.extend(power.map(str::to_owned));
    parts
}

fn now(machine: &Machine) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(machine.load1.map(|load| format!("load {load:.2}")));
    if let Some(seen) = &machine.activity {
        parts.extend(seen.foreign_cpus.map(|cpus| format!("other work on {cpus:.2} CPUs")));
        let waits = &seen.pressure;
        let waits = [("CPU", waits.cpu), ("io", waits.io), ("memory", waits.memory)];
        let known = waits.iter().filter_map(|(name, share)| Some((name, (*share)?)));
        let waits: Vec<String> =
            known.map(|(name, share)| format!("{name} {share:.0} %")).collect();
        parts.extend((!waits.is_empty()).then(|| format!("waits for {}", waits.join("/"))));
    }
    parts.extend(machine.steal_s.map(|s| format!("{s:.1} s stolen since boot")));
    parts.extend(machine.throttles.map(|n| format!("slowed for heat {n} time(s) since boot")));
    parts
}

/// `name value`, where there is a value that says something.
fn named(name: &str, value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(|value| format!("{name} {value}"))
}

fn on(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unlikely_measure::machine::{Activity, Cpus, Frequency, Idle, Pressure, Turbo};

    fn text(machine: &Machine, line: &str) -> String {
        let lines = lines(machine);
        let found = lines.into_iter().find(|(name, _)| *name == line);
        found.map(|(_, text)| text).unwrap_or_default()
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let machine = Machine { cpu: "X".into(), kernel: "6.1".into(), ..Default::default() };
        let expected = [
            ("cpu", "X"),
            ("clock", "turbo unknown"),
            ("kernel", "Linux 6.1"),
            ("place", "no hypervisor seen"),
        ];
        let found = lines(&machine);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, text)| (*name, &**text)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_laptop_is_told_in_its_own_terms() {
        let mut machine = Machine {
            cpu: "i7".into(),
            turbo: Turbo::On,
            governors: vec!["powersave".into()],
            frequency: Frequency {
                driver: Some("intel_pstate".into()),
                min_khz: Some(400_000),
                max_khz: Some(4_700_000),
                fixed: Some(false),
            },
            idle: Idle { deepest: Some("C10".into()), latency_us: Some(890), ..Default::default() },
            cpus: Cpus {
                online: Some("0-7".into()),
                affinity: Some("0-3".into()),
                isolated: Some(String::new()),
                smt: Some(true),
                quota: Some(1.5),
                ..Default::default()
            },
            hypervisor: true,
            container: true,
            on_battery: Some(true),
            aslr: Some(0),
            ..Default::default()
        };
        assert_eq!(text(&machine, "cpu"), "i7, CPUs 0-7 online, SMT on");
        let clock = "turbo on, governor powersave (intel_pstate), 400 to 4700 MHz, \
                     deepest sleep C10 (890 \u{b5}s to wake)";
        assert_eq!(text(&machine, "clock"), clock);
        let place = "virtual machine, container, may use CPUs 0-3, quota of 1.50 CPUs, on battery";
        assert_eq!(text(&machine, "place"), place);
        assert!(text(&machine, "kernel").ends_with("ASLR off"));
        machine.frequency.min_khz = machine.frequency.max_khz;
        machine.cpus.isolated = Some("2-3".into());
        assert!(text(&machine, "clock").contains(", 4700 MHz,"));
        assert!(text(&machine, "cpu").contains("isolated 2-3"));
    }

    #[test]
    fn mitigations_are_counted_and_present_work_is_told() {
        let said = [("a", "Mitigation: x"), ("b", "Vulnerable"), ("c", "Vulnerable: no microcode")];
        let machine = Machine {
            mitigations: said.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            load1: Some(0.5),
            steal_s: Some(7.0),
            activity: Some(Activity {
                foreign_cpus: Some(0.25),
                pressure: Pressure { cpu: Some(12.0), io: None, memory: Some(0.0) },
                ..Default::default()
            }),
            ..Default::default()
        };
        assert!(text(&machine, "kernel").ends_with("1 mitigation(s) on, 2 weakness(es) open"));
        let now = "load 0.50, other work on 0.25 CPUs, waits for CPU 12 %/memory 0 %, \
                   7.0 s stolen since boot";
        assert_eq!(text(&machine, "now"), now);
    }
}

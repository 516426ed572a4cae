//! Makes sure that a workload does not outlive a killed campaign, and that none of its processes
//! outlives its run.
//!
//! Every run of a campaign joins one process group. Its leader is a process that ends at once and
//! is not reaped before the campaign is over: until then no other group can have its id, and the
//! group can be killed as a whole after each run.
//!
//! A process killed with SIGKILL cannot clean up, and the kernel's parent-death signal reaches one
//! process, not a group (and asking for it needs unsafe code between fork and exec). So a small
//! shell in a group of its own waits at a pipe whose other end only this process holds, and kills
//! the group when the pipe ends. A command that is being started meanwhile holds the pipe too, and
//! lets go of it at its exec, when it has joined the group: none is missed. Not reached are
//! processes that leave the group on purpose (`setsid`).

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A line says that all is well; the end of input without one that this process was killed.
const SCRIPT: &str = r#"trap '' HUP INT QUIT TERM; read -r line || kill -s KILL -- "-$1""#;

/// A process group whose processes die with this process, whatever ends it. Dropping it kills
/// what is left in the group.
#[derive(Debug)]
pub struct Guardian {
    leader: Child,
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Guardian {
    /// Starts the group and its watcher.
    ///
    /// # Errors
    /// If `/bin/sh` cannot be started.
    pub fn start() -> io::Result<Self> {
        let mut leader = quiet("/bin/sh").args(["-c", ":"]).stdin(Stdio::null()).spawn()?;
        let id = leader.id().to_string();
        let spawned =
            quiet("/bin/sh").args(["-c", SCRIPT, "sh", &id]).stdin(Stdio::piped()).spawn();
        match spawned {
            Ok(mut shell) => {
                let pipe = shell.stdin.take();
                Ok(Self { leader, shell, pipe })
            }
            Err(error) => {
                leader.wait()?;
                Err(error)
            }
        }
    }

    /// The group that every run has to join: for [`CommandExt::process_group`].
    pub fn group_id(&self) -> i32 {
        self.group().as_raw_pid()
    }

    pub(crate) fn group(&self) -> Pid {
        Pid::from_child(&self.leader)
    }

    /// Kills every process of the group.
    pub(crate) fn kill_group(&self) {
        // The unreaped leader alone keeps the group in being, so this cannot hit another one, and
        // it fails only for processes that have another owner by now.
        let _ = kill_process_group(self.group(), Signal::KILL);
    }
}

/// A command in a process group of its own that neither speaks nor keeps a folder in use.
pub(crate) fn quiet(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.kill_group();
        if let Some(mut pipe) = self.pipe.take() {
            // Should the shell be gone, there is nobody left to tell.
            let _ = pipe.write_all(b"\n");
        }
        // The shell first: it must not kill a group whose id is free again.
        let _ = self.shell.wait();
        let _ = self.leader.wait();
    }
}

/// Waits for a process of whatever parent to end; whether it did, within a time that only a test
/// that fails needs.
#[cfg(test)]
pub(crate) fn dies(process: Pid) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open};
    match pidfd_open(process, PidfdFlags::empty()) {
        Ok(exit) => {
            let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
            poll(&mut [PollFd::new(&exit, PollFlags::IN)], Some(&limit)) == Ok(1)
        }
        // Nobody's child any more, and gone.
        Err(error) => error == rustix::io::Errno::SRCH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn sleeper(group: i32) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 1000 & wait"]).process_group(group).spawn().unwrap()
    }

    #[test]
    fn the_group_dies_when_the_pipe_ends_unannounced() {
        let mut guardian = Guardian::start().unwrap();
        let mut workload = sleeper(guardian.group().as_raw_pid());
        // What a SIGKILL of this process does: the pipe ends, and no line came before.
        guardian.pipe = None;
        assert!(dies(Pid::from_child(&workload)));
        assert_eq!(workload.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn runs_can_join_after_the_leader_has_ended_and_after_the_group_was_killed() {
        let guardian = Guardian::start().unwrap();
        for _ in 0..3 {
            let mut workload = sleeper(guardian.group().as_raw_pid());
            guardian.kill_group();
            assert!(dies(Pid::from_child(&workload)));
            assert_eq!(workload.wait().unwrap().signal(), Some(9));
        }
    }

    #[test]
    fn other_groups_are_left_alone() {
        let mut bystander = sleeper(0);
        drop(Guardian::start().unwrap());
        assert!(bystander.try_wait().unwrap().is_none());
        kill_process_group(Pid::from_child(&bystander), Signal::KILL).unwrap();
        bystander.wait().unwrap();
    }
}

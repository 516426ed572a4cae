//! The locks for C, on a machine that C describes: no standard library, no operating system.
//!
//! A kernel in C that wants these locks writes such a library: its own functions stand behind
//! [`Platform`], and each operation is exported for the contexts it uses. What is asked of the machine
//! is in `freestanding.h`, and nothing else is: `scripts/test-freestanding` reads the symbols of the
//! library, and runs it under a C program whose threads are CPUs.
#![no_std]

use core::sync::atomic::AtomicU32;

use lock::{
    Bh, Context, Cpu, Flags, Irq, IrqSave, IrqSections, Nodes, Plain, Platform, Queued, QueuedRw,
    RawRw, RawSpin, RwPlatform,
};

/// How many CPUs the machine may have: `MACHINE_CPUS` of the header.
const CPUS: usize = 8;

static NODES: [Nodes; CPUS] = [const { Nodes::new() }; CPUS];
static SECTIONS: [IrqSections; CPUS] = [const { IrqSections::new() }; CPUS];

// The machine. The words that it waits on are read by it, and nobody but a lock writes them.
unsafe extern "C" {
    safe fn machine_cpu() -> u32;
    safe fn machine_preempt_disable();
    safe fn machine_preempt_enable();
    safe fn machine_bh_disable();
    safe fn machine_bh_enable();
    safe fn machine_irq_save() -> usize;
    safe fn machine_irq_restore(flags: usize);
    safe fn machine_in_interrupt() -> bool;
    safe fn machine_is_virtual() -> bool;
    safe fn machine_relax();
    safe fn machine_wait(word: &AtomicU32, expected: u32);
    safe fn machine_kick(word: &AtomicU32);
    safe fn machine_barrier_all();
    safe fn machine_panic() -> !;
}

/// The machine that the C program describes.
enum Machine {}

// SAFETY: `freestanding.h` asks it of the machine: what runs between a disable or a save and its end
// stays on its CPU; numbers are below `CPUS`, each of one CPU, which has the nodes and sections of that
// number; whether it is virtual does not change.
unsafe impl Platform for Machine {
    const PARAVIRT: bool = true;
    // Few, as the machine gives the processor away at each.
    const SPINS: u32 = 1 << 4;

    fn parks() -> bool {
        machine_is_virtual()
    }
    fn cpu() -> Option<Cpu> {
        let number = machine_cpu();
        if number as usize >= CPUS {
            return None;
        }
        Cpu::new(number as u16)
    }
    fn nodes(cpu: Cpu) -> &'static Nodes {
        &NODES[usize::from(cpu.number())]
    }
    fn with_irq_sections<R>(f: impl FnOnce(&IrqSections) -> R) -> R {
        f(&SECTIONS[machine_cpu() as usize])
    }
    fn preempt_disable() {
        machine_preempt_disable();
    }
    fn preempt_enable() {
        machine_preempt_enable();
    }
    fn bh_disable() {
        machine_bh_disable();
    }
    fn bh_enable() {
        machine_bh_enable();
    }
    fn irq_save() -> Flags {
        Flags(machine_irq_save())
    }
    fn irq_restore(flags: Flags) {
        machine_irq_restore(flags.0);
    }
    fn relax() {
        machine_relax();
    }
    fn wait(word: &AtomicU32, expected: u32) {
        machine_wait(word, expected);
    }
    fn kick(word: &AtomicU32) {
        machine_kick(word);
    }
    fn barrier_all() {
        machine_barrier_all();
    }
}

impl RwPlatform for Machine {
    fn in_interrupt() -> bool {
        machine_in_interrupt()
    }
}

lock::spin_copies!(Machine);
lock::rw_copies!(Machine);

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    machine_panic()
}

/// As `spinlock_t` of the header, and `rwlock_t`.
const _: () = assert!(size_of::<Queued>() == 4 && size_of::<QueuedRw>() == 8);

/// Makes a free lock.
///
/// # Safety
/// Nobody else uses the memory, which is a lock's size and alignment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spin_lock_init(lock: *mut Queued) {
    // SAFETY: as the caller says.
    unsafe { lock.write(Queued::new()) };
}

/// Makes a free lock.
///
/// # Safety
/// As for [`spin_lock_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rwlock_init(lock: *mut QueuedRw) {
    // SAFETY: as the caller says.
    unsafe { lock.write(QueuedRw::new()) };
}

/// The operations of a spinlock in one context.
macro_rules! spin {
    ($context:ty: $lock:ident, $try_lock:ident, $unlock:ident) => {
        /// Begins a section and waits for the lock.
        #[unsafe(no_mangle)]
        pub extern "C" fn $lock(lock: &Queued) {
            RawSpin::<Machine>::lock_in::<$context>(lock);
        }

        /// Takes the lock if it is free; if not, no section.
        #[unsafe(no_mangle)]
        pub extern "C" fn $try_lock(lock: &Queued) -> bool {
            RawSpin::<Machine>::try_lock_in::<$context>(lock)
        }

        /// Frees the lock and ends a section.
        ///
        /// # Safety
        /// This CPU holds the lock and is in a section of this context.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $unlock(lock: &Queued) {
            // SAFETY: as the caller says.
            unsafe { RawSpin::<Machine>::unlock_in::<$context>(lock) };
        }
    };
}
spin!(Plain: spin_lock, spin_trylock, spin_unlock);
spin!(Bh: spin_lock_bh, spin_trylock_bh, spin_unlock_bh);
spin!(Irq: spin_lock_irq, spin_trylock_irq, spin_unlock_irq);
spin!(IrqSave: spin_lock_irqsave, spin_trylock_irqsave, spin_unlock_irqrestore);

/// The operations of a read-write lock in one context, for reading or for writing.
macro_rules! read_write {
    ($context:ty: $lock:ident as $take:ident, $try_lock:ident as $try_take:ident,
        $unlock:ident as $free:ident) => {
        /// Begins a section and waits for the lock.
        #[unsafe(no_mangle)]
        pub extern "C" fn $lock(lock: &QueuedRw) {
            <$context>::enter::<Machine>();
            RawRw::<Machine>::$take(lock);
        }

        /// Takes the lock if it is free for that; if not, no section.
        #[unsafe(no_mangle)]
        pub extern "C" fn $try_lock(lock: &QueuedRw) -> bool {
            <$context>::enter::<Machine>();
            let taken = RawRw::<Machine>::$try_take(lock);
            if !taken {
                // SAFETY: entered above.
                unsafe { <$context>::exit::<Machine>() };
            }
            taken
        }

        /// Frees the lock and ends a section.
        ///
        /// # Safety
        /// This CPU holds the lock in this way and is in a section of this context.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $unlock(lock: &QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { RawRw::<Machine>::$free::<$context>(lock) };
        }
    };
}
read_write!(Plain: read_lock as read, read_trylock as try_read, read_unlock as unlock_read_in);
read_write!(Bh: read_lock_bh as read, read_trylock_bh as try_read,
    read_unlock_bh as unlock_read_in);
read_write!(Irq: read_lock_irq as read, read_trylock_irq as try_read,
    read_unlock_irq as unlock_read_in);
read_write!(IrqSave: read_lock_irqsave as read, read_trylock_irqsave as try_read,
    read_unlock_irqrestore as unlock_read_in);
read_write!(Plain: write_lock as write, write_trylock as try_write,
    write_unlock as unlock_write_in);
read_write!(Bh: write_lock_bh as write, write_trylock_bh as try_write,
    write_unlock_bh as unlock_write_in);
read_write!(Irq: write_lock_irq as write, write_trylock_irq as try_write,
    write_unlock_irq as unlock_write_in);
read_write!(IrqSave: write_lock_irqsave as write, write_trylock_irqsave as try_write,
    write_unlock_irqrestore as unlock_write_in);

/// Whether somebody holds the lock, at this moment.
#[unsafe(no_mangle)]
pub extern "C" fn spin_is_locked(lock: &Queued) -> bool {
    RawSpin::<Machine>::is_locked(lock)
}

/// How many interrupt sections of this CPU are open. Interrupts are off.
#[unsafe(no_mangle)]
pub extern "C" fn irq_sections() -> u32 {
    Machine::with_irq_sections(IrqSections::depth)
}

//! A thread of the simulated device, which executes commands in order. The device has one lane for uploads and kernels,
//! and one for downloads.

use super::{NAME, Operation, State, lock};
use crate::accel::{DeviceError, KernelHandle, Native, Value};
use std::{
    collections::BTreeMap,
    ptr,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

/// A command queue and its thread.
pub struct Lane {
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    asked: AtomicU64,
    progress: Arc<Progress>,
    worker: Option<thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Progress {
    /// Number of commands that the lane has completed.
    done: Mutex<u64>,
    advanced: Condvar,
    /// Errors of commands, kept until they are queried.
    errors: Mutex<BTreeMap<u64, DeviceError>>,
}

/// A command to a lane; its addresses have been checked.
pub enum Command {
    /// From the host, or from another device.
    Upload {
        to: usize,
        from: usize,
        len: usize,
    },
    Download {
        from: usize,
        to: usize,
        len: usize,
    },
    Fill {
        to: usize,
        len: usize,
        byte: u8,
    },
    Kernel {
        code: KernelHandle,
        grid: [u32; 3],
        block: [u32; 3],
        memory: Vec<(usize, usize)>,
        values: Vec<Value>,
    },
}

impl Lane {
    pub fn start(shared: &Arc<State>) -> Self {
        let (sender, receiver) = mpsc::channel();
        let (state, progress) = (Arc::clone(shared), Arc::<Progress>::default());
        let told = Arc::clone(&progress);
        let worker = thread::Builder::new()
            .name("adsm-sim".to_owned())
            .spawn(move || work(&state, &told, &receiver))
            .expect("a thread can be started");
        Self { commands: Mutex::new(Some(sender)), asked: AtomicU64::new(0), progress, worker: Some(worker) }
    }

    /// Queues a command and returns its number.
    pub fn ask(&self, command: Command) -> u64 {
        let commands = lock(&self.commands);
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let sent = commands.as_ref().map(|commands| commands.send(command));
        assert!(matches!(sent, Some(Ok(()))), "the device's thread lives as long as the device");
        number
    }

    pub fn is_done(&self, number: u64) -> Result<bool, DeviceError> {
        if let Some(error) = lock(&self.progress.errors).remove(&number) {
            return Err(error);
        }
        Ok(*lock(&self.progress.done) >= number)
    }

    pub fn wait(&self, number: u64) -> Result<(), DeviceError> {
        let mut done = lock(&self.progress.done);
        while *done < number {
            done = self.progress.advanced.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
        drop(done);
        lock(&self.progress.errors).remove(&number).map_or(Ok(()), Err)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        lock(&self.commands).take();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

/// The lane's thread: executes commands in order.
fn work(state: &State, progress: &Progress, commands: &mpsc::Receiver<Command>) {
    let mut number = 0;
    while let Ok(command) = commands.recv() {
        number += 1;
        if let Err(error) = obey(state, command) {
            lock(&progress.errors).insert(number, error);
        }
        *lock(&progress.done) = number;
        progress.advanced.notify_all();
    }
}

fn obey(state: &State, command: Command) -> Result<(), DeviceError> {
    if let Some(error) = lock(&state.lost).as_ref() {
        return Err(error.clone());
    }
    match command {
        Command::Upload { to, from, len } => {
            state.pause(len);
            // SAFETY: the target was checked when the command was queued; the caller keeps the source unchanged.
            unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, len) };
        }
        Command::Download { from, to, len } => {
            state.fails(Operation::Arrival)?;
            // SAFETY: the source was checked when the command was queued; the caller does not use the target.
            unsafe { state.bring(from, to, len) };
        }
        Command::Fill { to, len, byte } => {
            // SAFETY: checked when the command was queued.
            unsafe { ptr::write_bytes(to as *mut u8, byte, len) };
        }
        Command::Kernel { code, grid, block, memory, values } => {
            state.fails(Operation::Kernel)?;
            state.pause(0);
            if let KernelHandle::Native(code) = code {
                // SAFETY: ranges of the device's memory, checked to be its own and not to overlap; between the launch
                // and its end nothing else accesses them.
                let memory = memory
                    .into_iter()
                    .map(|(at, len)| unsafe { std::slice::from_raw_parts_mut(at as *mut u8, len) })
                    .collect();
                let mut call = Native { grid, block, memory, values };
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| code(&mut call))).map_err(|_| {
                    let (device, why) = (NAME.to_owned(), "it panicked".to_owned());
                    DeviceError::Failed { device, what: "a kernel", why }
                })?;
            }
        }
    }
    Ok(())
}

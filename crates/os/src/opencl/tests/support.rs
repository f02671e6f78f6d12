//! A test program without a CPU: its memory, and a library that executes the driver's actions.

use std::{cell::RefCell, rc::Rc};

use engine::Time;
use mem::{Bytes, VirtAddr};

use super::super::{Driver, Settings, abi, cl, error::Code, function::Function, functional::Functional, gpu::Gpus};
use crate::{
    compiler,
    guest::{Answer, Fault, GuestMemory, NoRoom, Tid, Trap},
};

/// Mapped ranges in order of allocation, without gaps between them.
#[derive(Default)]
pub struct Memory {
    pieces: Vec<(u64, Vec<u8>)>,
    next: u64,
    /// An address whose next read must wait for a device, and whether a read is waiting.
    pub away: Option<u64>,
    waiting: bool,
}

impl Memory {
    fn piece(&mut self, address: VirtAddr, size: usize, write: bool) -> Result<&mut [u8], Fault> {
        let holds = |piece: &&mut (u64, Vec<u8>)| {
            piece.0 <= address.0 && address.0 - piece.0 + size as u64 <= piece.1.len() as u64
        };
        let (base, bytes) = self.pieces.iter_mut().find(holds).ok_or(Fault { address, write })?;
        let start = (address.0 - *base) as usize;
        Ok(&mut bytes[start..start + size])
    }
}

impl GuestMemory for Memory {
    fn read(&mut self, address: VirtAddr, bytes: &mut [u8]) -> Result<(), Fault> {
        self.waiting = self.away == Some(address.0);
        if self.waiting {
            self.away = None;
            return Err(Fault { address, write: false });
        }
        bytes.copy_from_slice(self.piece(address, bytes.len(), false)?);
        Ok(())
    }

    fn write(&mut self, address: VirtAddr, bytes: &[u8]) -> Result<(), Fault> {
        self.piece(address, bytes.len(), true)?.copy_from_slice(bytes);
        Ok(())
    }

    fn is_waiting(&self) -> bool {
        self.waiting
    }

    fn map_anonymous(&mut self, size: Bytes) -> Result<VirtAddr, NoRoom> {
        if size.0 > 1 << 30 {
            return Err(NoRoom { size });
        }
        let base = self.next.max(0x10_0000_0000);
        self.next = (base + size.0 + 0x1000).next_multiple_of(0x1000);
        self.pieces.push((base, vec![0; size.0 as usize]));
        Ok(VirtAddr(base))
    }

    /// Unmaps whole ranges only.
    fn unmap(&mut self, address: VirtAddr, size: Bytes) {
        self.pieces.retain(|(base, bytes)| *base != address.0 || size.0 < bytes.len() as u64);
    }
}

/// A test program that calls the driver.
pub struct Program {
    pub driver: Driver,
    pub memory: Memory,
    /// The callbacks that were called, with their arguments.
    pub called: Vec<(u64, [u64; 4])>,
    pub printed: Vec<u8>,
    pub said: Rc<RefCell<Vec<String>>>,
    /// The latest time until which it waits.
    until: Time,
    /// The current time.
    pub now: Time,
    pub copies: usize,
    /// The number of calls that were repeated because their bytes had not arrived.
    pub away: usize,
}

impl Program {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        let gpus = Functional::for_settings(&settings);
        Self::with_gpus(settings, Box::new(gpus))
    }

    pub fn with_gpus(settings: Settings, gpus: Box<dyn Gpus>) -> Self {
        let said = Rc::<RefCell<Vec<String>>>::default();
        let heard = said.clone();
        let settings = Settings {
            say: Box::new(move |text| heard.borrow_mut().push(text.into())),
            compiler: compiler::Settings { cache: None, ..compiler::Settings::default() },
            ..settings
        };
        let driver = Driver::with_gpus(settings, gpus);
        Self {
            driver,
            memory: Memory::default(),
            called: vec![],
            printed: vec![],
            said,
            until: Time::NEVER,
            now: Time::ZERO,
            copies: 0,
            away: 0,
        }
    }

    /// Allocates memory with these bytes.
    pub fn put(&mut self, bytes: &[u8]) -> u64 {
        let address = self.memory.map_anonymous(Bytes(bytes.len().max(1) as u64)).unwrap();
        self.memory.write(address, bytes).unwrap();
        address.0
    }

    pub fn put_words(&mut self, words: &[u64]) -> u64 {
        self.put(&super::super::call::words(words))
    }

    pub fn put_ints(&mut self, ints: &[i32]) -> u64 {
        let bytes: Vec<u8> = ints.iter().flat_map(|int| int.to_le_bytes()).collect();
        self.put(&bytes)
    }

    pub fn text(&mut self, text: &str) -> u64 {
        self.put(&[text.as_bytes(), &[0]].concat())
    }

    pub fn get(&mut self, address: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.memory.read(VirtAddr(address), &mut bytes).unwrap();
        bytes
    }

    pub fn get_word(&mut self, address: u64) -> u64 {
        self.memory.read_u64(VirtAddr(address)).unwrap()
    }

    pub fn get_ints(&mut self, address: u64, count: usize) -> Vec<i32> {
        self.get(address, 4 * count).chunks(4).map(|int| i32::from_le_bytes(int.try_into().unwrap())).collect()
    }

    /// Calls a function as the library does; returns its result.
    pub fn call(&mut self, function: Function, arguments: &[u64]) -> u64 {
        let mut bytes = vec![0; 8 * (3 + abi::ARGUMENTS + 10)];
        bytes[..4].copy_from_slice(&(function as u32).to_le_bytes());
        for (n, argument) in arguments.iter().enumerate() {
            bytes[24 + 8 * n..32 + 8 * n].copy_from_slice(&argument.to_le_bytes());
        }
        let record = self.put(&bytes);
        let result = loop {
            match self.trap(record) {
                None => self.wait(),
                Some(0) => break self.get_word(record + 16),
                Some(answer) => self.act(answer, record + 24 + 8 * abi::ARGUMENTS as u64),
            }
        };
        self.memory.unmap(VirtAddr(record), Bytes(u64::MAX));
        result
    }

    /// Lets the GPUs work or, if they have nothing to do, time pass.
    fn wait(&mut self) {
        if self.driver.work(&mut self.memory, self.now, 1 << 20) == 0 {
            let next = self.until.min(self.driver.next_event());
            assert_ne!(next, Time::NEVER, "nothing to do, and yet {}", self.driver.waits_for(Tid(1)));
            self.now = self.now.max(next);
        }
    }

    pub fn trap(&mut self, record: u64) -> Option<u64> {
        let args = [record, abi::VERSION, 0, 0, 0, 0];
        match self.driver.trap(args, Tid(1), &mut self.memory, self.now) {
            Answer::Return(answer) => Some(answer),
            Answer::Wait { until, .. } => {
                self.until = until;
                None
            }
            // The bytes have arrived meanwhile.
            Answer::Away => {
                self.away += 1;
                self.trap(record)
            }
        }
    }

    fn act(&mut self, answer: u64, place: u64) {
        let w: Vec<u64> = (0..10).map(|n| self.get_word(place + 8 * n)).collect();
        match answer {
            2 => {
                self.copies += 1;
                for slice in 0..w[4] {
                    for row in 0..w[3] {
                        let bytes = self.get(w[1] + slice * w[8] + row * w[6], w[2] as usize);
                        self.memory.write(VirtAddr(w[0] + slice * w[7] + row * w[5]), &bytes).unwrap();
                    }
                }
            }
            4 => self.called.push((w[0], [w[1], w[2], w[3], w[4]])),
            5 => {
                let text = self.get(w[0], w[1] as usize);
                self.printed.extend(text);
            }
            7 => {}
            other => panic!("the driver answered {other}"),
        }
    }

    /// Calls a function that returns a status.
    pub fn status(&mut self, function: Function, arguments: &[u64]) -> Code {
        Code(self.call(function, arguments) as i32)
    }

    /// Calls a function that must succeed.
    pub fn ok(&mut self, function: Function, arguments: &[u64]) {
        let status = self.status(function, arguments);
        assert_eq!(status, cl::SUCCESS, "{function:?}{arguments:x?}, said: {:?}", self.said.borrow());
    }

    /// Calls a function that creates an object and writes its status through the last argument.
    pub fn make(&mut self, function: Function, arguments: &[u64]) -> Result<u64, Code> {
        let place = self.put_ints(&[1]);
        let made = self.call(function, &[arguments, &[place]].concat());
        let status = Code(self.get_ints(place, 1)[0]);
        assert_eq!(made != 0, status == cl::SUCCESS, "{function:?}: {made:x} with {status:?}");
        if status == cl::SUCCESS { Ok(made) } else { Err(status) }
    }

    /// The result of a query; `arguments` are the arguments before the buffer's size.
    pub fn query(&mut self, function: Function, arguments: &[u64]) -> Result<Vec<u8>, Code> {
        let size = self.put_words(&[0]);
        let status = self.status(function, &[arguments, &[0, 0, size]].concat());
        if status != cl::SUCCESS {
            return Err(status);
        }
        let count = self.get_word(size);
        let place = self.put(&vec![0xee; count as usize + 8]);
        self.ok(function, &[arguments, &[count, place, 0]].concat());
        assert_eq!(self.get(place + count, 8), [0xee; 8], "no more than it said");
        if count > 0 {
            let short = self.status(function, &[arguments, &[count - 1, place, 0]].concat());
            assert_eq!(short, cl::INVALID_VALUE, "no room");
        }
        Ok(self.get(place, count as usize))
    }

    pub fn query_int(&mut self, function: Function, arguments: &[u64]) -> i32 {
        let bytes = self.query(function, arguments).unwrap();
        i32::from_le_bytes(bytes.try_into().unwrap())
    }

    pub fn query_word(&mut self, function: Function, arguments: &[u64]) -> u64 {
        let bytes = self.query(function, arguments).unwrap();
        u64::from_le_bytes(bytes.try_into().unwrap())
    }

    pub fn query_text(&mut self, function: Function, arguments: &[u64]) -> String {
        let bytes = self.query(function, arguments).unwrap();
        assert_eq!(bytes.last(), Some(&0));
        String::from_utf8(bytes[..bytes.len() - 1].to_vec()).unwrap()
    }
}

/// The objects that every program creates first.
pub struct Setup {
    pub device: u64,
    pub context: u64,
    pub queue: u64,
}

impl Program {
    pub fn set_up(&mut self, queue_bits: u64) -> Setup {
        let place = self.put_words(&[0]);
        self.ok(Function::GetPlatformIDs, &[1, place, 0]);
        let platform = self.get_word(place);
        self.ok(Function::GetDeviceIDs, &[platform, cl::DEVICE_TYPE_GPU, 1, place, 0]);
        let device = self.get_word(place);
        let context = self.make(Function::CreateContext, &[0, 1, place, 0, 0]).unwrap();
        let queue = self.make(Function::CreateCommandQueue, &[context, device, queue_bits]).unwrap();
        Setup { device, context, queue }
    }

    /// Builds a program from source.
    pub fn build(&mut self, setup: &Setup, source: &str) -> u64 {
        let text = self.text(source);
        let strings = self.put_words(&[text]);
        let program = self.make(Function::CreateProgramWithSource, &[setup.context, 1, strings, 0]).unwrap();
        let status = self.status(Function::BuildProgram, &[program, 0, 0, 0, 0, 0]);
        if status != cl::SUCCESS {
            let log = self.query_text(Function::GetProgramBuildInfo, &[program, setup.device, cl::PROGRAM_BUILD_LOG]);
            panic!("{status:?}: {log}; said {:?}", self.said.borrow());
        }
        program
    }

    pub fn kernel(&mut self, program: u64, name: &str) -> u64 {
        let name = self.text(name);
        self.make(Function::CreateKernel, &[program, name]).unwrap()
    }

    pub fn set_arg(&mut self, kernel: u64, index: u64, bytes: &[u8]) {
        let place = self.put(bytes);
        self.ok(Function::SetKernelArg, &[kernel, index, bytes.len() as u64, place]);
    }

    /// Enqueues a one-dimensional kernel.
    pub fn run(&mut self, setup: &Setup, kernel: u64, items: u64, group: u64) {
        let (global, local) = (self.put_words(&[items]), self.put_words(&[group]));
        self.ok(Function::EnqueueNDRangeKernel, &[setup.queue, kernel, 1, 0, global, local, 0, 0, 0]);
    }

    pub fn buffer(&mut self, setup: &Setup, ints: &[i32]) -> u64 {
        let place = self.put_ints(ints);
        let size = 4 * ints.len() as u64;
        self.make(Function::CreateBuffer, &[setup.context, cl::MEM_COPY_HOST_PTR, size, place]).unwrap()
    }

    pub fn read(&mut self, setup: &Setup, buffer: u64, count: usize) -> Vec<i32> {
        let place = self.put(&vec![0; 4 * count]);
        self.ok(Function::EnqueueReadBuffer, &[setup.queue, buffer, 1, 0, 4 * count as u64, place, 0, 0, 0]);
        self.get_ints(place, count)
    }
}

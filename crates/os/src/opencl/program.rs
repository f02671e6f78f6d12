//! Programs: sources and binaries, and the code objects built from them.

use std::{rc::Rc, sync::Arc};

use gcn3::object::CodeObject;
use mem::{Bytes, VirtAddr};

use super::{
    abi::Action,
    call::{Call, DONE, Outcome, flag, text, uint, word, words},
    cl,
    driver::Driver,
    error::{Cl, Code, ensure},
    hints::with_hints,
};
use crate::{
    compiler::{Built, CompileError, Compiler, Job, Options, Purpose},
    guest::GuestMemory,
    state::{Read, Reader, State, Unreadable},
};

/// The magic number of LLVM bitcode.
const BITCODE: [u8; 4] = *b"BC\xc0\xde";

/// The result of building a program.
#[derive(Clone, Debug)]
pub enum Binary {
    /// Bitcode of one source.
    Compiled(Vec<u8>),
    Library(Vec<u8>),
    Executable {
        bytes: Vec<u8>,
        object: Rc<CodeObject>,
    },
}

impl Binary {
    fn read(bytes: &[u8]) -> Option<Binary> {
        if bytes.starts_with(&BITCODE) {
            return Some(Binary::Compiled(bytes.to_vec()));
        }
        let object = CodeObject::parse(bytes).ok()?;
        Some(Binary::Executable { bytes: bytes.to_vec(), object: Rc::new(object) })
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Binary::Compiled(bytes) | Binary::Library(bytes) | Binary::Executable { bytes, .. } => bytes,
        }
    }

    fn kind(&self) -> u64 {
        match self {
            Binary::Compiled(_) => cl::PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
            Binary::Library(_) => cl::PROGRAM_BINARY_TYPE_LIBRARY,
            Binary::Executable { .. } => cl::PROGRAM_BINARY_TYPE_EXECUTABLE,
        }
    }
}

/// A program's code, loaded in memory.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub object: Rc<CodeObject>,
    pub program: Arc<gcn3::functional::Program>,
    pub formats: Arc<Vec<String>>,
    pub memory: (VirtAddr, Bytes),
}

#[derive(Debug)]
pub struct Program {
    pub context: u64,
    pub devices: Vec<u64>,
    source: Option<Vec<u8>>,
    /// The binary that it was created from or built into.
    binary: Option<Binary>,
    status: Code,
    log: String,
    options: String,
    /// The number of attached kernels; while there are any, the program can't be rebuilt.
    pub kernels: u32,
    /// Loaded code: for work-groups up to the compiler's default size, and for larger ones.
    pub loaded: [Option<Loaded>; 2],
}

impl Program {
    fn new(context: u64, devices: Vec<u64>) -> Self {
        Self {
            context,
            devices,
            source: None,
            binary: None,
            status: cl::BUILD_NONE,
            log: String::new(),
            options: String::new(),
            kernels: 0,
            loaded: [None, None],
        }
    }

    /// Whether it can be compiled for larger work-groups.
    pub fn has_source(&self) -> bool {
        self.source.is_some()
    }

    /// The code object, if it is built.
    pub fn executable(&self) -> Cl<Rc<CodeObject>> {
        match &self.binary {
            Some(Binary::Executable { object, .. }) if self.status == cl::SUCCESS => Ok(object.clone()),
            _ => Err(cl::INVALID_PROGRAM_EXECUTABLE),
        }
    }
}

/// Saved without the objects that are built from its bytes.
impl State for Binary {
    fn save(&self, to: &mut Vec<u8>) {
        matches!(self, Binary::Library(_)).save(to);
        self.bytes().to_vec().save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let (is_library, bytes) = (bool::load(from)?, Vec::load(from)?);
        match is_library {
            true => Ok(Binary::Library(bytes)),
            false => Binary::read(&bytes).ok_or_else(|| Unreadable::new("the code of a program")),
        }
    }
}

impl Program {
    /// Saves it; of its loaded code only the addresses, since the code is in memory.
    pub fn save(&self, to: &mut Vec<u8>) {
        let Self { context, devices, source, binary, status, log, options, kernels, loaded } = self;
        context.save(to);
        devices.save(to);
        source.save(to);
        binary.save(to);
        status.save(to);
        (log.clone(), options.clone()).save(to);
        kernels.save(to);
        loaded.each_ref().map(|loaded| loaded.as_ref().map(|loaded| loaded.memory)).save(to);
    }

    pub fn load(from: &mut Reader, compiler: &Compiler) -> Read<Self> {
        let mut program = Self::new(State::load(from)?, State::load(from)?);
        program.source = State::load(from)?;
        program.binary = State::load(from)?;
        program.status = State::load(from)?;
        (program.log, program.options) = State::load(from)?;
        program.kernels = State::load(from)?;
        let [narrow, wide] = <[Option<(VirtAddr, Bytes)>; 2]>::load(from)?;
        let unreadable = |_| Unreadable::new("the code of a program");
        if let Some(memory) = narrow {
            let object = program.executable().map_err(unreadable)?;
            program.loaded[0] = Some(Loaded::at(memory, object).map_err(Unreadable)?);
        }
        if let Some(memory) = wide {
            let object = program.wide_object(compiler).map_err(Unreadable)?;
            program.loaded[1] = Some(Loaded::at(memory, object).map_err(Unreadable)?);
        }
        Ok(program)
    }

    /// Compiles it for work-groups larger than the compiler's default.
    fn wide_object(&self, compiler: &Compiler) -> Result<Rc<CodeObject>, String> {
        let source = self.source.as_ref().ok_or("a program without source can't be compiled for large work-groups")?;
        let mut options = Options::parse(&self.options, Purpose::Build).unwrap_or_default();
        options.widen();
        let built = compiler.make(&Job::Build { source }, &options);
        let built = built.and_then(|built| {
            let refused = |error| CompileError::Refused { log: format!("{error}") };
            CodeObject::parse(&built.bytes).map_err(refused)
        });
        built.map(Rc::new).map_err(|error| format!("a program could not be compiled for large work-groups: {error}"))
    }
}

impl Driver {
    pub(super) fn create_program_with_source(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (context, count, strings, lengths) = (call.word(0), call.uint(1), call.pointer(2), call.pointer(3));
        let devices = self.contexts.get(context)?.devices.clone();
        ensure(count > 0 && strings.0 != 0, cl::INVALID_VALUE)?;
        let mut source = Vec::new();
        for n in 0..u64::from(count) {
            let string = VirtAddr(call.guest.read_u64(strings + Bytes(8 * n))?);
            ensure(string.0 != 0, cl::INVALID_VALUE)?;
            let length = match lengths.0 {
                0 => 0,
                _ => call.guest.read_u64(lengths + Bytes(8 * n))?,
            };
            match length {
                0 => source.extend(call.text(string)?.into_bytes()),
                length => source.extend(call.bytes(string, length)?),
            }
        }
        // Programs often include the terminating zero in the length of a string.
        while source.last() == Some(&0) {
            source.pop();
        }
        let program = Program { source: Some(source), ..Program::new(context, devices) };
        Ok(self.insert_program(program))
    }

    fn insert_program(&mut self, program: Program) -> Outcome {
        self.contexts.hold(program.context);
        Outcome::word(self.programs.insert(program))
    }

    pub(super) fn create_program_with_binary(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (context, lengths, binaries) = (call.word(0), call.pointer(3), call.pointer(4));
        let known = self.contexts.get(context)?.devices.clone();
        ensure(call.uint(1) > 0 && call.word(2) != 0, cl::INVALID_VALUE)?;
        ensure(lengths.0 != 0 && binaries.0 != 0, cl::INVALID_VALUE)?;
        let devices = call.list(1, 2, cl::INVALID_VALUE)?;
        ensure(devices.iter().all(|device| known.contains(device)), cl::INVALID_DEVICE)?;
        let mut binary = None;
        let mut states = Vec::new();
        for n in 0..devices.len() as u64 {
            let length = call.guest.read_u64(lengths + Bytes(8 * n))?;
            let place = VirtAddr(call.guest.read_u64(binaries + Bytes(8 * n))?);
            if length == 0 || place.0 == 0 {
                states.push(cl::INVALID_VALUE);
                continue;
            }
            // All devices are equal: the last readable binary serves all of them.
            match Binary::read(&call.bytes(place, length)?) {
                Some(read) => {
                    binary = Some(read);
                    states.push(cl::SUCCESS);
                }
                None => states.push(cl::INVALID_BINARY),
            }
        }
        call.give(5, &states.iter().flat_map(|state| state.0.to_le_bytes()).collect::<Vec<_>>())?;
        if let Some(bad) = states.into_iter().find(|state| *state != cl::SUCCESS) {
            return Err(bad);
        }
        let program = Program { binary, ..Program::new(context, devices) };
        Ok(self.insert_program(program))
    }

    /// Fails: there are no built-in kernels.
    pub(super) fn create_program_with_built_in_kernels(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.contexts.get(call.word(0))?;
        Err(cl::INVALID_VALUE)
    }

    pub(super) fn release_program(&mut self, call: &mut Call) -> Cl<Outcome> {
        if let Some(program) = self.programs.release(call.word(0))? {
            self.drop_program(program, call.guest);
        }
        DONE
    }

    pub(super) fn unhold_program(&mut self, handle: u64, guest: &mut dyn GuestMemory) {
        if let Some(program) = self.programs.unhold(handle) {
            self.drop_program(program, guest);
        }
    }

    fn drop_program(&mut self, program: Program, guest: &mut dyn GuestMemory) {
        for loaded in program.loaded.into_iter().flatten() {
            self.free_now(loaded.memory, guest);
        }
        self.unhold_context(program.context);
    }

    /// Checks the devices of a build, which must be devices of the program. All devices are equal.
    fn check_devices(&self, call: &mut Call, count: usize, known: &[u64]) -> Cl<()> {
        let devices = call.list(count, count + 1, cl::INVALID_VALUE)?;
        ensure(devices.iter().all(|device| known.contains(device)), cl::INVALID_DEVICE)
    }

    /// The action that notifies the program when a build is complete.
    fn notification(call: &Call, n: usize, program: u64) -> Cl<Vec<Action>> {
        let (function, data) = (call.pointer(n), call.word(n + 1));
        ensure(function.0 != 0 || data == 0, cl::INVALID_VALUE)?;
        let told = Action::Call { function, arguments: [program, data, 0, 0] };
        Ok(Some(told).filter(|_| function.0 != 0).into_iter().collect())
    }

    fn options_text(call: &mut Call, n: usize) -> Cl<String> {
        match call.pointer(n) {
            VirtAddr(0) => Ok(String::new()),
            address => call.text(address),
        }
    }

    pub(super) fn build_program(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let known = self.programs.get(handle)?.devices.clone();
        self.check_devices(call, 1, &known)?;
        let actions = Self::notification(call, 4, handle)?;
        ensure(self.programs.get(handle)?.kernels == 0, cl::INVALID_OPERATION)?;
        let text = Self::options_text(call, 3)?;
        let options = match Options::parse(&text, Purpose::Build) {
            Ok(options) => options,
            Err(error) => {
                let program = self.programs.get_mut(handle)?;
                (program.status, program.log) = (cl::BUILD_ERROR, format!("{error}\n"));
                program.options = text;
                return Err(cl::INVALID_BUILD_OPTIONS);
            }
        };
        self.forget_code(handle, call.guest)?;
        let program = self.programs.get(handle)?;
        let made = match (&program.source, &program.binary) {
            (Some(source), _) => {
                let source = source.clone();
                self.compiler.make(&Job::Build { source: &source }, &options)
            }
            (None, Some(Binary::Executable { bytes, .. })) => Ok(Built { bytes: bytes.clone(), log: String::new() }),
            (None, Some(binary)) => {
                let inputs = [binary.bytes().to_vec()];
                self.compiler.make(&Job::Link { inputs: &inputs, library: false }, &options)
            }
            (None, None) => return Err(cl::INVALID_OPERATION),
        };
        let status = self.note_build(handle, text, made, Binary::read, cl::BUILD_PROGRAM_FAILURE)?;
        answer_build(status, actions)
    }

    /// Frees the loaded code of a program that is being rebuilt.
    fn forget_code(&mut self, handle: u64, guest: &mut dyn GuestMemory) -> Cl<()> {
        for loaded in std::mem::take(&mut self.programs.get_mut(handle)?.loaded).into_iter().flatten() {
            self.free_now(loaded.memory, guest);
        }
        Ok(())
    }

    /// Records the result of a build; returns the status for the caller.
    fn note_build(
        &mut self,
        handle: u64,
        options: String,
        made: Result<Built, CompileError>,
        read: impl Fn(&[u8]) -> Option<Binary>,
        failure: Code,
    ) -> Cl<Code> {
        let (binary, log, code) = match made {
            Ok(built) => match read(&built.bytes) {
                Some(binary) => (Some(binary), built.log, cl::SUCCESS),
                None => (None, "what the compiler made can't be read\n".into(), failure),
            },
            Err(CompileError::Refused { log }) => (None, with_hints(log), failure),
            Err(other) => {
                // The user of the simulator can fix this error.
                self.say(&other.to_string());
                let missing = matches!(
                    other,
                    CompileError::NoCompiler { .. } | CompileError::NoLibraries { .. } | CompileError::NoLinker
                );
                let code = if missing { cl::COMPILER_NOT_AVAILABLE } else { failure };
                (None, format!("{other}\n"), code)
            }
        };
        let program = self.programs.held_mut(handle)?;
        program.status = if code == cl::SUCCESS { cl::SUCCESS } else { cl::BUILD_ERROR };
        (program.log, program.options) = (log, options);
        if binary.is_some() || program.source.is_some() {
            program.binary = binary;
        }
        Ok(code)
    }

    pub(super) fn compile_program(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let known = self.programs.get(handle)?.devices.clone();
        self.check_devices(call, 1, &known)?;
        let actions = Self::notification(call, 7, handle)?;
        let headers = call.list(4, 5, cl::INVALID_VALUE)?;
        ensure((headers.is_empty()) == (call.word(6) == 0), cl::INVALID_VALUE)?;
        let names = call.words(call.pointer(6), headers.len())?;
        let program = self.programs.get(handle)?;
        ensure(program.kernels == 0, cl::INVALID_OPERATION)?;
        let source = program.source.clone().ok_or(cl::INVALID_OPERATION)?;
        let mut texts = Vec::new();
        for (header, name) in headers.into_iter().zip(names) {
            let name = call.text(VirtAddr(name))?;
            let text = self.programs.get(header)?.source.clone().ok_or(cl::INVALID_OPERATION)?;
            texts.push((name, text));
        }
        let text = Self::options_text(call, 3)?;
        let options = match Options::parse(&text, Purpose::Compile) {
            Ok(options) => options,
            Err(error) => {
                self.programs.get_mut(handle)?.log = format!("{error}\n");
                return Err(cl::INVALID_COMPILER_OPTIONS);
            }
        };
        self.forget_code(handle, call.guest)?;
        let job = Job::Compile { source: &source, headers: &texts };
        let made = self.compiler.make(&job, &options);
        let status = self.note_build(handle, text, made, Binary::read, cl::COMPILE_PROGRAM_FAILURE)?;
        answer_build(status, actions)
    }

    pub(super) fn link_program(&mut self, call: &mut Call) -> Cl<Outcome> {
        let context = call.word(0);
        let known = self.contexts.get(context)?.devices.clone();
        self.check_devices(call, 1, &known)?;
        ensure(call.uint(4) > 0 && call.word(5) != 0, cl::INVALID_VALUE)?;
        let parts = call.list(4, 5, cl::INVALID_VALUE)?;
        let mut inputs = Vec::new();
        for part in parts {
            match &self.programs.get(part)?.binary {
                Some(Binary::Compiled(bytes) | Binary::Library(bytes)) => inputs.push(bytes.clone()),
                _ => return Err(cl::INVALID_OPERATION),
            }
        }
        let text = Self::options_text(call, 3)?;
        let options = Options::parse(&text, Purpose::Link).map_err(|_| cl::INVALID_LINKER_OPTIONS)?;
        let handle = self.insert_program(Program::new(context, known)).word;
        let actions = Self::notification(call, 6, handle)?;
        let library = options.library;
        let made = self.compiler.make(&Job::Link { inputs: &inputs, library }, &options);
        let read = |bytes: &[u8]| match library {
            true => Some(Binary::Library(bytes.to_vec())),
            false => Binary::read(bytes),
        };
        let status = self.note_build(handle, text, made, read, cl::LINK_PROGRAM_FAILURE)?;
        Ok(Outcome { word: handle, status: Some(status), actions, ..Outcome::default() })
    }

    pub(super) fn get_program_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let program = self.programs.get(handle)?;
        let count = program.devices.len();
        let binary = program.binary.as_ref().map(Binary::bytes).unwrap_or_default();
        let value = match u64::from(call.uint(1)) {
            cl::PROGRAM_REFERENCE_COUNT => uint(self.programs.references(handle)?),
            cl::PROGRAM_CONTEXT => word(program.context),
            cl::PROGRAM_NUM_DEVICES => uint(count as u32),
            cl::PROGRAM_DEVICES => words(&program.devices),
            cl::PROGRAM_SOURCE => text(&String::from_utf8_lossy(program.source.as_deref().unwrap_or_default())),
            cl::PROGRAM_BINARY_SIZES => words(&vec![binary.len() as u64; count]),
            cl::PROGRAM_BINARIES => {
                let binary = binary.to_vec();
                return give_binaries(call, count, &binary);
            }
            cl::PROGRAM_NUM_KERNELS => word(program.executable()?.kernels().len() as u64),
            cl::PROGRAM_KERNEL_NAMES => {
                let object = program.executable()?;
                let names: Vec<&str> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
                text(&names.join(";"))
            }
            cl::PROGRAM_IL => Vec::new(),
            cl::PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT | cl::PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT => flag(false),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &value)
    }

    pub(super) fn get_program_build_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let program = self.programs.get(call.word(0))?;
        ensure(program.devices.contains(&call.word(1)), cl::INVALID_DEVICE)?;
        let value = match u64::from(call.uint(2)) {
            cl::PROGRAM_BUILD_STATUS => uint(program.status.0 as u32),
            cl::PROGRAM_BUILD_OPTIONS => text(&program.options),
            cl::PROGRAM_BUILD_LOG => text(&program.log),
            cl::PROGRAM_BINARY_TYPE => {
                let built = program.binary.as_ref().filter(|_| program.status == cl::SUCCESS);
                uint(built.map_or(cl::PROGRAM_BINARY_TYPE_NONE, Binary::kind) as u32)
            }
            cl::PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => word(0),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(3, &value)
    }

    /// Loads a program's code if necessary; `wide`: for work-groups larger than the compiler's default.
    pub(super) fn load_program(&mut self, handle: u64, wide: bool, guest: &mut dyn GuestMemory) -> Cl<Loaded> {
        let program = self.programs.held(handle)?;
        if let Some(loaded) = &program.loaded[usize::from(wide)] {
            return Ok(loaded.clone());
        }
        let mut object = program.executable()?;
        if wide {
            if !program.has_source() {
                return Err(cl::INVALID_WORK_GROUP_SIZE);
            }
            object = program.wide_object(&self.compiler).map_err(|text| {
                self.say(&text);
                cl::INVALID_WORK_GROUP_SIZE
            })?;
        }
        let loaded = load(object, guest).map_err(|text| {
            self.say(&text);
            cl::OUT_OF_RESOURCES
        })?;
        self.touched.push(loaded.memory);
        self.programs.held_mut(handle)?.loaded[usize::from(wide)] = Some(loaded.clone());
        Ok(loaded)
    }
}

/// The outcome of a build function. With a callback, the call succeeds and the callback reports the failure.
fn answer_build(status: Code, actions: Vec<Action>) -> Cl<Outcome> {
    match actions.is_empty() {
        true if status != cl::SUCCESS => Err(status),
        _ => Ok(Outcome { actions, ..Outcome::default() }),
    }
}

/// Writes the binary to the address that the program gives for each device.
fn give_binaries(call: &mut Call, count: usize, binary: &[u8]) -> Cl<Outcome> {
    let size = 8 * count as u64;
    if call.word(3) != 0 {
        ensure(call.word(2) >= size, cl::INVALID_VALUE)?;
        for place in call.words(call.pointer(3), count)? {
            if place != 0 {
                call.guest.write(VirtAddr(place), binary)?;
            }
        }
    }
    call.give_word(4, size)?;
    DONE
}

/// Where code that is loaded at `memory` begins.
const ALIGN: u64 = 64 << 10;

impl Loaded {
    /// A code object that has been loaded to this memory.
    fn at(memory: (VirtAddr, Bytes), object: Rc<CodeObject>) -> Result<Self, String> {
        let base = VirtAddr(memory.0.0.next_multiple_of(ALIGN));
        let image = object.load(base).map_err(|error| error.to_string())?;
        let formats = Arc::new(object.printf_formats().to_vec());
        Ok(Self { object, program: Arc::new(gcn3::functional::Program::new(image)), formats, memory })
    }
}

/// Loads a code object into memory.
fn load(object: Rc<CodeObject>, guest: &mut dyn GuestMemory) -> Result<Loaded, String> {
    let size = object.load(VirtAddr(0)).map_err(|error| error.to_string())?.end().0 + ALIGN;
    let memory = (guest.map_anonymous(Bytes(size)).map_err(|error| error.to_string())?, Bytes(size));
    let base = VirtAddr(memory.0.0.next_multiple_of(ALIGN));
    for segment in &object.load(base).map_err(|error| error.to_string())?.segments {
        guest.write(segment.address, &segment.bytes).map_err(|fault| fault.to_string())?;
    }
    Loaded::at(memory, object)
}

//! Memory objects: buffers, sub-buffers, and what they have in common with images.

use crate::state::state;
use engine::Time;
use mem::{Bytes, VirtAddr};

use super::{
    abi::Action,
    call::{Call, DONE, Outcome, flag, uint, word, words},
    cl,
    command::{Step, Work},
    device::{BASE_ALIGN, LARGEST_BUFFER},
    device_memory::{Region, Spread},
    driver::Driver,
    error::{Cl, ensure},
    event::Event,
    image::Image,
    policy::{Brought, Mapping, Placement, PolicyKind},
};
use crate::guest::GuestMemory;

/// A buffer or an image.
#[derive(Debug)]
pub struct MemObject {
    pub context: u64,
    pub flags: u64,
    pub size: u64,
    /// As passed by the program.
    pub host_pointer: u64,
    pub placement: Placement,
    /// The buffer of which this is a part, and the offset in it.
    pub parent: Option<(u64, u64)>,
    pub image: Option<Image>,
    pub mappings: Vec<Mapping>,
    /// Destructor callbacks, called in reverse order.
    destructors: Vec<(VirtAddr, u64)>,
    properties: Vec<u64>,
}

state!(struct MemObject { context, flags, size, host_pointer, placement, parent, image, mappings, destructors, properties });

const KERNEL_ACCESS: u64 = cl::MEM_READ_WRITE | cl::MEM_WRITE_ONLY | cl::MEM_READ_ONLY;
const HOST_MEMORY: u64 = cl::MEM_USE_HOST_PTR | cl::MEM_ALLOC_HOST_PTR | cl::MEM_COPY_HOST_PTR;
const HOST_ACCESS: u64 = cl::MEM_HOST_WRITE_ONLY | cl::MEM_HOST_READ_ONLY | cl::MEM_HOST_NO_ACCESS;

/// Checks the flags of a new object; `host_pointer` must be non-null exactly if the flags need one.
pub fn check_flags(flags: u64, host_pointer: u64) -> Cl<()> {
    let one = |bits: u64| (flags & bits).count_ones() <= 1;
    ensure(flags & !(KERNEL_ACCESS | HOST_MEMORY | HOST_ACCESS) == 0, cl::INVALID_VALUE)?;
    ensure(one(KERNEL_ACCESS) && one(HOST_ACCESS), cl::INVALID_VALUE)?;
    let using = flags & cl::MEM_USE_HOST_PTR != 0;
    ensure(!using || flags & (cl::MEM_ALLOC_HOST_PTR | cl::MEM_COPY_HOST_PTR) == 0, cl::INVALID_VALUE)?;
    let wants = flags & (cl::MEM_USE_HOST_PTR | cl::MEM_COPY_HOST_PTR) != 0;
    ensure(wants == (host_pointer != 0), cl::INVALID_HOST_PTR)
}

/// The flags of an object that is a part of `parent`: they may not allow more than the parent's, and default to the
/// parent's.
pub fn inherited_flags(parent: &MemObject, mut flags: u64) -> Cl<u64> {
    ensure(flags & HOST_MEMORY == 0, cl::INVALID_VALUE)?;
    let narrows = |whole: u64, refused: u64| parent.flags & whole == 0 || flags & refused == 0;
    ensure(narrows(cl::MEM_WRITE_ONLY, cl::MEM_READ_WRITE | cl::MEM_READ_ONLY), cl::INVALID_VALUE)?;
    ensure(narrows(cl::MEM_READ_ONLY, cl::MEM_READ_WRITE | cl::MEM_WRITE_ONLY), cl::INVALID_VALUE)?;
    ensure(narrows(cl::MEM_HOST_WRITE_ONLY, cl::MEM_HOST_READ_ONLY), cl::INVALID_VALUE)?;
    ensure(narrows(cl::MEM_HOST_READ_ONLY, cl::MEM_HOST_WRITE_ONLY), cl::INVALID_VALUE)?;
    ensure(narrows(cl::MEM_HOST_NO_ACCESS, cl::MEM_HOST_READ_ONLY | cl::MEM_HOST_WRITE_ONLY), cl::INVALID_VALUE)?;
    check_flags(flags, 0)?;
    if flags & KERNEL_ACCESS == 0 {
        flags |= parent.flags & KERNEL_ACCESS;
    }
    if flags & HOST_ACCESS == 0 {
        flags |= parent.flags & HOST_ACCESS;
    }
    Ok(flags | parent.flags & HOST_MEMORY)
}

/// The flags as queries report them: read-write by default.
pub fn full_flags(flags: u64) -> u64 {
    if flags & KERNEL_ACCESS == 0 { flags | cl::MEM_READ_WRITE } else { flags }
}

impl MemObject {
    pub fn new(context: u64, flags: u64, size: u64, host_pointer: u64, placement: Placement) -> Self {
        Self {
            context,
            flags: full_flags(flags),
            size,
            host_pointer,
            placement,
            parent: None,
            image: None,
            mappings: Vec::new(),
            destructors: Vec::new(),
            properties: Vec::new(),
        }
    }

    /// The object type for queries.
    pub fn kind(&self) -> u64 {
        self.image.as_ref().map_or(cl::MEM_OBJECT_BUFFER, |image| image.kind)
    }

    /// Checks that a range lies inside a buffer.
    pub fn check_range(&self, offset: u64, size: u64) -> Cl<()> {
        let inside = offset.checked_add(size).is_some_and(|end| end <= self.size);
        ensure(inside, cl::INVALID_VALUE)
    }
}

impl Driver {
    pub(super) fn create_buffer(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.make_buffer(call, 1, Vec::new())
    }

    pub(super) fn create_buffer_with_properties(&mut self, call: &mut Call) -> Cl<Outcome> {
        ensure(call.properties(1)?.is_empty(), cl::INVALID_PROPERTY)?;
        let properties = if call.word(1) == 0 { vec![] } else { vec![0] };
        self.make_buffer(call, 2, properties)
    }

    /// Creates a buffer; the arguments from `first` on are flags, size and host pointer.
    fn make_buffer(&mut self, call: &mut Call, first: usize, properties: Vec<u64>) -> Cl<Outcome> {
        let (context, flags, size, host_pointer) =
            (call.word(0), call.word(first), call.word(first + 1), call.word(first + 2));
        self.contexts.get(context)?;
        ensure(flags & (cl::MEM_SVM_FINE_GRAIN_BUFFER | cl::MEM_SVM_ATOMICS) == 0, cl::INVALID_VALUE)?;
        check_flags(flags, host_pointer)?;
        ensure(size > 0 && size <= LARGEST_BUFFER, cl::INVALID_BUFFER_SIZE)?;
        let host = VirtAddr(host_pointer);
        let (placement, actions) = match self.svm.find(host) {
            // A buffer over shared virtual memory uses that memory itself.
            Some(allocation) if flags & cl::MEM_USE_HOST_PTR != 0 => {
                ensure(size <= allocation.left(host), cl::INVALID_BUFFER_SIZE)?;
                let placement = Placement { size: Bytes(size), device: host, owned: false, host: Some(host) };
                (placement, vec![])
            }
            _ => {
                let brought = match flags {
                    flags if flags & cl::MEM_USE_HOST_PTR != 0 => Brought::Used(host),
                    flags if flags & cl::MEM_COPY_HOST_PTR != 0 => Brought::Copied(host),
                    _ => Brought::Nothing,
                };
                self.policy.allocate(call.guest, Bytes(size), brought)?
            }
        };
        if self.svm.find(host).is_none() || flags & cl::MEM_USE_HOST_PTR == 0 {
            self.settle_buffer(&placement, context, call.guest)?;
        }
        let outcome = self.fill_in(context, actions, call.now);
        self.touched.push((placement.device, placement.size));
        let mut buffer = MemObject::new(context, flags, size, host_pointer, placement);
        if flags & cl::MEM_USE_HOST_PTR == 0 {
            buffer.host_pointer = 0;
        }
        buffer.properties = properties;
        self.contexts.hold(context);
        Ok(Outcome { word: self.memories.insert(buffer), ..outcome })
    }

    /// Allocates frames for a new buffer, if devices have memory of their own.
    pub(super) fn settle_buffer(&mut self, placement: &Placement, context: u64, guest: &mut dyn GuestMemory) -> Cl<()> {
        let region = (placement.device, placement.size);
        let settled = self.settle_region(region, context, guest);
        if settled.is_err() && placement.owned {
            guest.unmap(region.0, region.1);
        }
        settled
    }

    pub(super) fn settle_region(&mut self, region: Region, context: u64, guest: &mut dyn GuestMemory) -> Cl<()> {
        if self.is_paged() {
            return self.page_region(region, guest);
        }
        if !self.tables.is_split() || self.settings.policy != PolicyKind::Memcpy {
            return Ok(());
        }
        let first = self.contexts.get(context).ok().and_then(|context| context.devices.first().copied());
        let device = first.and_then(|first| self.devices.iter().position(|device| device.handle == first)).unwrap_or(0);
        let usual = if self.settings.device_per_gpu { Spread::Device(device) } else { Spread::Ranges };
        match self.settings.spread.unwrap_or(usual) {
            Spread::FirstTouch => Ok(()),
            spread => ensure(self.tables.settle(region, spread), cl::MEM_OBJECT_ALLOCATION_FAILURE),
        }
    }

    /// Copies the program's initial contents to a new buffer: by the program, or by the engine before the call returns.
    pub(super) fn fill_in(&mut self, context: u64, actions: Vec<Action>, now: Time) -> Outcome {
        let by_engine = self.tables.is_split() && self.settings.policy == PolicyKind::Memcpy;
        if !by_engine || actions.is_empty() {
            return Outcome { actions, ..Outcome::default() };
        }
        let steps = actions.into_iter().map(|action| match action {
            Action::Copy(rect) => Step::Write(rect),
            other => Step::Guest(other),
        });
        self.contexts.hold(context);
        let event = self.events.insert(Event::detached(context, steps.collect(), now));
        let outcome = self.until(vec![event], Some(cl::INVALID_HOST_PTR));
        // The program never sees this event.
        if let Ok(Some(event)) = self.events.release(event) {
            self.drop_event(event);
        }
        self.ready.push_back((event, now));
        outcome
    }

    pub(super) fn create_sub_buffer(&mut self, call: &mut Call) -> Cl<Outcome> {
        let (handle, info) = (call.word(0), call.pointer(3));
        let parent = self.memories.get(handle)?;
        ensure(parent.image.is_none() && parent.parent.is_none(), cl::INVALID_MEM_OBJECT)?;
        ensure(u64::from(call.uint(2)) == cl::BUFFER_CREATE_TYPE_REGION && info.0 != 0, cl::INVALID_VALUE)?;
        let flags = inherited_flags(parent, call.word(1))?;
        let region = call.words(info, 2)?;
        let (origin, size) = (region[0], region[1]);
        ensure(size > 0, cl::INVALID_BUFFER_SIZE)?;
        parent.check_range(origin, size)?;
        ensure(origin.is_multiple_of(BASE_ALIGN), cl::MISALIGNED_SUB_BUFFER_OFFSET)?;
        let placement = Placement {
            size: Bytes(size),
            device: parent.placement.device + Bytes(origin),
            owned: false,
            host: parent.placement.host.map(|host| host + Bytes(origin)),
        };
        let host_pointer = if parent.host_pointer == 0 { 0 } else { parent.host_pointer + origin };
        let context = parent.context;
        let mut part = MemObject::new(context, flags, size, host_pointer, placement);
        part.parent = Some((handle, origin));
        self.memories.hold(handle);
        self.contexts.hold(context);
        Ok(Outcome::word(self.memories.insert(part)))
    }

    pub(super) fn release_mem_object(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        if let Some(memory) = self.memories.release(handle)? {
            self.drop_memory(handle, memory, call.guest);
        }
        DONE
    }

    pub(super) fn unhold_memory(&mut self, handle: u64, guest: &mut dyn GuestMemory) {
        if let Some(memory) = self.memories.unhold(handle) {
            self.drop_memory(handle, memory, guest);
        }
    }

    fn drop_memory(&mut self, handle: u64, memory: MemObject, guest: &mut dyn GuestMemory) {
        for (function, data) in memory.destructors.into_iter().rev() {
            let action = Action::Call { function, arguments: [handle, data, 0, 0] };
            self.work.push_back(Work { action, event: None, held: None });
        }
        for mapping in memory.mappings {
            if let Some(size) = mapping.staging {
                guest.unmap(mapping.pointer, size);
            }
        }
        if let Some(image) = memory.image {
            self.slots.take(image.description);
        }
        if memory.placement.owned {
            self.free_region((memory.placement.device, memory.placement.size), guest);
        }
        if let Some((parent, _)) = memory.parent {
            self.unhold_memory(parent, guest);
        }
        self.unhold_context(memory.context);
    }

    pub(super) fn set_mem_object_destructor_callback(&mut self, call: &mut Call) -> Cl<Outcome> {
        let destructor = (call.pointer(1), call.word(2));
        let memory = self.memories.get_mut(call.word(0))?;
        ensure(destructor.0.0 != 0, cl::INVALID_VALUE)?;
        memory.destructors.push(destructor);
        DONE
    }

    pub(super) fn get_mem_object_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let handle = call.word(0);
        let memory = self.memories.get(handle)?;
        let value = match u64::from(call.uint(1)) {
            cl::MEM_TYPE => uint(memory.kind() as u32),
            cl::MEM_FLAGS => word(memory.flags),
            cl::MEM_SIZE => word(memory.size),
            cl::MEM_HOST_PTR => word(memory.host_pointer),
            cl::MEM_MAP_COUNT => uint(memory.mappings.len() as u32),
            cl::MEM_REFERENCE_COUNT => uint(self.memories.references(handle)?),
            cl::MEM_CONTEXT => word(memory.context),
            cl::MEM_ASSOCIATED_MEMOBJECT => word(memory.parent.map_or(0, |(parent, _)| parent)),
            cl::MEM_OFFSET => word(memory.parent.map_or(0, |(_, offset)| offset)),
            cl::MEM_USES_SVM_POINTER => flag(self.svm.find(VirtAddr(memory.host_pointer)).is_some()),
            cl::MEM_PROPERTIES => words(&memory.properties),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &value)
    }
}

//! All shared objects of the process, by address.
//!
//! It is searched when a fault arrives, so its lock is never held while shared memory is accessed.

use super::Object;
use crate::os::Access;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, PoisonError, RwLock},
};

/// Serves the faults of an object.
pub trait Keeper: Send + Sync {
    fn serve(&self, object: &Arc<Object>, address: usize, access: Option<Access>) -> bool;
}

/// An object and its keeper.
#[derive(Clone)]
pub struct Registered {
    pub object: Arc<Object>,
    pub keeper: Arc<dyn Keeper>,
}

struct Registry {
    objects: BTreeMap<usize, Registered>,
    /// Start addresses of recently freed objects, to distinguish a double free from an unknown pointer.
    freed: VecDeque<usize>,
}

static REGISTRY: RwLock<Registry> = RwLock::new(Registry { objects: BTreeMap::new(), freed: VecDeque::new() });

/// The result of serving a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    Yes,
    NotOurs,
    /// The fault was in a shared object, but the bytes can't be fetched; standard error says why.
    Failed,
}

pub fn register(registered: Registered) {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    let base = registered.object.base();
    registry.freed.retain(|&freed| freed != base);
    registry.objects.insert(base, registered);
}

pub fn unregister(base: usize) -> Option<Registered> {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    let registered = registry.objects.remove(&base)?;
    if registry.freed.len() == 256 {
        registry.freed.pop_front();
    }
    registry.freed.push_back(base);
    Some(registered)
}

/// The object that contains `address`; otherwise whether an object that began there was freed.
pub fn find(address: usize) -> Result<Registered, bool> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    match registry.objects.range(..=address).next_back() {
        Some((_, registered)) if registered.object.range().contains(&address) => Ok(registered.clone()),
        _ => Err(registry.freed.contains(&address)),
    }
}

/// Serves a fault at a closed page. Called by fault engines.
pub fn fault(address: usize, access: Option<Access>) -> Served {
    match find(address) {
        Ok(Registered { object, keeper }) => {
            if keeper.serve(&object, address, access) {
                Served::Yes
            } else {
                Served::Failed
            }
        }
        Err(_) => Served::NotOurs,
    }
}

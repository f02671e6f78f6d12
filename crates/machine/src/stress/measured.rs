//! Migrates one page after a fault and records the time of each step, for `bench machine`.

use super::{Book, Command, Conductor, migrator::FRAMES};
use crate::program::ModelGpus;
use engine::{Context, EventCount, Lane, Time};
use interconnect::HEADER;
use mem::{Access, Block, Bytes, PAGE, PhysAddr, VirtAddr, ZONE};
use os::opencl::gpu::{Cause, Done, Gpus, Page, Piece, Transfer};
use std::sync::{Arc, Mutex, PoisonError};

/// Pages of a long transfer; a second one is twice as long.
pub(crate) const MANY: u64 = 16;

/// Times at which the steps of a migration ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Migrated {
    /// The command to access the page was sent.
    pub asked: Time,
    /// The driver received the fault.
    pub heard: Time,
    /// TLBs and caches had dropped the page.
    pub recalled: Time,
    /// The page's bytes had been moved.
    pub moved: Time,
    /// The report of the completed access arrived.
    pub accessed: Time,
    /// Durations of moving `MANY` pages, and twice as many.
    pub many: [Time; 2],
}

/// A driver that migrates one page.
pub(crate) struct OneMigration {
    pub gpus: ModelGpus,
    pub book: Arc<Book>,
    pub bell: EventCount,
    /// First addresses of the memories; `apart`: whether GPUs cannot access the host's memory.
    pub zones: Vec<u64>,
    pub apart: bool,
    pub migrated: Arc<Mutex<Migrated>>,
}

impl OneMigration {
    /// A frame of the host's memory, or of the first GPU's.
    fn frame(&self, of_gpu: bool, number: u64) -> PhysAddr {
        let zone = usize::from(of_gpu).min(self.zones.len() - 1);
        let begins = if self.apart { ZONE } else { 0 };
        // With a single memory, the GPU's frames lie behind the host's.
        let behind = if of_gpu { 1 << 20 } else { 0 };
        PhysAddr(begins + self.zones[zone] + FRAMES + behind + number * PAGE)
    }

    /// Waits until the driver's news meet a condition.
    async fn until(&self, told: impl Fn(&Done) -> bool, cx: &Context) -> Time {
        loop {
            let seen = self.bell.count();
            if told(&self.gpus.news()) {
                return cx.time();
            }
            self.bell.wait(seen + 1).await;
        }
    }

    async fn transfer(&self, number: u64, pages: u64, cx: &Context) -> Time {
        let piece = |page| Piece { to: self.frame(true, page), from: self.frame(false, page), bytes: PAGE };
        let pieces = (0..pages).map(piece).collect();
        let transfer = Transfer { pieces, pattern: None, descriptor: None, cause: Cause::Fault };
        self.gpus.hold_transfer(number, transfer);
        self.gpus.release_all();
        self.until(|news| news.ended.iter().any(|ended| ended.launch == number), cx).await
    }
}

impl Conductor {
    /// Migrates a page that the last GPU has used to the first GPU, whose tester accesses it, and records the time of
    /// each step.
    pub async fn migrate(self, mut of: OneMigration, cx: Context) {
        let (at, others) = (of.book.page(0), of.book.gpus() - 1);
        let page = |place: PhysAddr| Page { at, place, writable: true };
        let load = Command::Access(Access::Load, mem::Scope::Group, Block::EMPTY);
        if others > 0 {
            of.gpus.enter(others, &page(of.frame(false, 0)));
            let (commands, reports) = &self.groups[others][0];
            commands.send(Lane::Request, load, HEADER).await;
            reports.recv(Lane::Reply).await;
        }
        let (commands, reports) = &self.groups[0][0];
        let asked = cx.time();
        commands.send(Lane::Request, load, HEADER).await;
        let heard = of.until(|news| !news.faults.is_empty(), &cx).await;
        let all: Vec<usize> = (0..=others).collect();
        let range: [(VirtAddr, Bytes); 1] = [(at, Bytes(PAGE))];
        of.gpus.shoot(1, &all, &range);
        let recalled = of.until(|news| !news.ended.is_empty(), &cx).await;
        let moved = of.transfer(2, 1, &cx).await;
        let answer = page(of.frame(true, 0));
        of.gpus.resolve(0, at, Ok(answer));
        reports.recv(Lane::Reply).await;
        let accessed = cx.time();
        let mut many = [Time::ZERO; 2];
        for (number, took) in many.iter_mut().enumerate() {
            let begun = cx.time();
            let over = of.transfer(3 + number as u64, MANY << number, &cx).await;
            *took = Time(over.0 - begun.0);
        }
        let migrated = Migrated { asked, heard, recalled, moved, accessed, many };
        *of.migrated.lock().unwrap_or_else(PoisonError::into_inner) = migrated;
    }
}

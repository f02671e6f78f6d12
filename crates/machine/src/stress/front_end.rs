//! A tester in place of the GPUs' front end.

use super::{Command, Read, Stress, TesterEnd};
use crate::program::{Caches, Translations};
use engine::{Context, Inlet, Lane, Outlet, Scope};
use interconnect::HEADER;
use mem::{Access, LINE, PAGE, PhysAddr};
use rand_pcg::{
    Pcg64Mcg,
    rand_core::{RngCore, SeedableRng},
};
use std::rc::Rc;

/// Pages shot down in a round.
const SHOOTDOWNS: u64 = 4;

/// Takes the place of the GPUs' front end. On command, and once while the others play, it makes the CPU's caches flush
/// all pages. While the others play it also sends shootdowns of random pages.
pub(crate) struct FrontEnd {
    stress: Stress,
    random: Pcg64Mcg,
    caches: Rc<dyn Caches>,
    translations: Option<Rc<dyn Translations>>,
    commands: Inlet<Command>,
    reports: Outlet<Read>,
}

impl FrontEnd {
    pub fn new(
        stress: Stress,
        end: TesterEnd,
        caches: Rc<dyn Caches>,
        translations: Option<Rc<dyn Translations>>,
        scope: &Scope,
    ) -> Self {
        let random = Pcg64Mcg::seed_from_u64(stress.seed);
        let (commands, reports) = (scope.receiver(end.1), scope.sender(end.0));
        Self { stress, random, caches, translations, commands, reports }
    }

    pub async fn run(mut self, cx: Context) {
        loop {
            match self.commands.recv(Lane::Request).await {
                Command::Play => {
                    for _ in 0..SHOOTDOWNS {
                        cx.pause(1 + self.random.next_u64() % (64 * self.stress.round / SHOOTDOWNS).max(1)).await;
                        // Two pages of memory have one name.
                        let names = (self.stress.lines * LINE as u64).div_ceil(2);
                        let page = self.random.next_u64() % names / PAGE * PAGE;
                        self.translations.iter().for_each(|all| all.shoot(vec![(page, page + PAGE)]));
                    }
                    self.flush().await;
                }
                Command::Access(Access::Flush, mem::Scope::System, _) => self.flush().await,
                Command::Access(..) | Command::Stream(_) | Command::Page(..) => {}
            }
            self.reports.send(Lane::Reply, 0, HEADER).await;
        }
    }

    async fn flush(&self) {
        let pages = (0..self.stress.lines * LINE as u64).step_by(PAGE as usize).map(PhysAddr);
        self.caches.flush(&pages.collect::<Vec<_>>()).await;
    }
}

//! The macro that turns a grid in the source into a [`Table`](crate::Table) and its labels into enums.

/// Defines a controller's table: a row for each state, a column for each event. Cells: `[Next action action]`, `z`
/// for a stall, `x` for what can't happen.
///
/// The labels become the enums `State`, `Event` and `Action` of a module. So an unknown state or action does not
/// compile, and neither does a row with a missing or an extra cell. A table too wide for one screen is written in
/// parts, separated by `;`: each part has other events, and the same states in the same order.
///
/// ```
/// protocol::protocol! { door actions(Ring)
///  on(      Push        Lock      )
///  Open   { [Shut]      z         }
///  Shut   { [Open Ring] [Locked]  }
///  Locked { x           [Shut]    }
/// }
/// assert_eq!(door::TABLE.states, ["Open", "Shut", "Locked"]);
/// ```
#[macro_export]
macro_rules! protocol {
    ($(#[$doc:meta])* $name:ident actions($($action:ident)*) on($($event:ident)*) $($state:ident { $($cell:tt)* })*
     $(; on($($more:ident)*) $($again:ident { $($further:tt)* })*)*) => {
        $(#[$doc])*
        pub mod $name {
            #[allow(unused_imports)]
            use std::borrow::Cow;

            /// The states of a line.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(u8)]
            #[allow(dead_code, non_camel_case_types)]
            pub enum State { $($state),* }

            /// The events of a line.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(u8)]
            #[allow(dead_code, non_camel_case_types)]
            pub enum Event { $($event,)* $($($more,)*)* }

            /// The actions of the controller.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(u8)]
            #[allow(dead_code, non_camel_case_types)]
            pub enum Action { $($action),* }

            #[allow(dead_code)]
            impl State {
                /// Every state, in the order of the rows.
                pub const ALL: &'static [Self] = &[$(Self::$state),*];
            }

            #[allow(dead_code)]
            impl Action {
                /// Every action, in the order of the table's heading.
                pub const ALL: &'static [Self] = &[$(Self::$action),*];
            }

            /// The labels of this table with a common meaning: a constant here shadows the absent one of the same
            /// name.
            #[allow(dead_code, unused_imports, non_upper_case_globals)]
            mod labels {
                pub mod states {
                    use $crate::absent::states::*;
                    $(pub const $state: Option<u8> = Some(super::super::State::$state as u8);)*
                    pub const INVALID: Option<u8> = I;
                }
                pub mod events {
                    use $crate::absent::events::*;
                    $(pub const $event: Option<u8> = Some(super::super::Event::$event as u8);)*
                    $($(pub const $more: Option<u8> = Some(super::super::Event::$more as u8);)*)*
                    pub const LABELS: $crate::Labels = $crate::Labels {
                        invalid: super::states::INVALID,
                        evict: Evict,
                        drain: Drain,
                        retry: Retry,
                        reset: Reset,
                        core_flush: CoreFlush,
                        ack_more: AckMore,
                        nack: super::actions::NACK,
                        found: super::actions::FOUND,
                        bring: super::actions::BRING,
                    };
                }
                pub mod actions {
                    use $crate::absent::actions::*;
                    $(pub const $action: Option<u8> = Some(super::super::Action::$action as u8);)*
                    pub const NACK: Option<u8> = Nack;
                    pub const FOUND: Option<u8> = Found;
                    pub const BRING: Option<u8> = Bring;
                }
            }

            pub static TABLE: $crate::Table = $crate::Table::new(
                stringify!($name),
                labels::events::LABELS,
                &[$(stringify!($state)),*],
                &[$(stringify!($event),)* $($(stringify!($more),)*)*],
                &[$(stringify!($action)),*],
                &[
                    $crate::Part::new(&[$(stringify!($event)),*], &[$([$($crate::protocol!(@cell $cell)),*]),*]),
                    $($crate::Part::new(&[$(stringify!($more)),*], &[$([$($crate::protocol!(@cell $further)),*]),*]),)*
                ],
            );
            $(const _: () = {
                assert!(State::ALL.len() == [$(State::$again),*].len(), "a part of the table has a row too few or too many");
                let mut row = 0;
                while row < State::ALL.len() {
                    assert!([$(State::$again as usize),*][row] == row, "the rows of a part stand in another order");
                    row += 1;
                }
            };)*
        }
    };
    (@cell x) => { $crate::Cell::Never };
    (@cell z) => { $crate::Cell::Stall };
    (@cell [$next:ident $($action:ident)*]) => {
        $crate::Cell::Go(State::$next as u8, Cow::Borrowed(&[$(Action::$action as u8),*]))
    };
}

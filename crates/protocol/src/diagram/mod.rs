//! A table as a state diagram: states are boxes, transitions are labelled arrows. The drawing is an SVG image.
//!
//! Stable states are drawn twice, at the left and at the right, and transient states between them. A transaction is
//! then a path from left to right, and nearly all arrows point to the right. All transitions between two states share
//! one arrow. Events that leave a state unchanged are listed inside its box. Events that wait or can't happen are left
//! out; the table has them.

mod draw;
mod graph;
mod layout;

use crate::Table;
use graph::Graph;
use layout::Layout;

/// The tables' diagrams as one SVG image, one below the other.
pub fn svg(tables: &[&Table]) -> String {
    let laid_out: Vec<_> = tables.iter().map(|table| (table.name, Layout::of(Graph::of(table)))).collect();
    draw::image(&laid_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    crate::protocol! { door actions(Ring)
     on(       Push            Lock      Wait            )
     Open    { [Moving Ring]   z         [Open]          }
     Shut    { [Open Ring]     [Locked]  [Shut]          }
     Locked  { x               [Shut]    [Locked Ring]   }
     Moving  { z               z         [Shut]          }
    }

    fn drawn() -> String {
        svg(&[&door::TABLE])
    }

    #[test]
    fn transitions_are_labelled_arrows_and_name_their_actions() {
        let svg = drawn();
        assert!(svg.contains("<title>Shut to Open on Push: Ring</title>"), "{svg}");
        assert!(svg.contains("<title>Moving to Shut on Wait</title>"), "{svg}");
        assert!(svg.contains(">Push</text>"), "{svg}");
    }

    #[test]
    fn states_at_rest_are_drawn_at_both_sides_and_others_in_the_middle() {
        let graph = Graph::of(&door::TABLE);
        let columns = |name: &str| -> Vec<usize> {
            graph.nodes.iter().filter(|node| node.name == name).map(|node| node.column).collect()
        };
        assert_eq!(columns("Shut"), [0, 3]);
        // `Open` stalls on `Lock`: it is not at rest, and `Moving` comes after it.
        assert_eq!(columns("Open"), [1]);
        assert_eq!(columns("Moving"), [2]);
    }

    #[test]
    fn events_that_change_no_state_are_listed_in_the_box() {
        assert_eq!(drawn().matches(">Wait</text>").count(), 4, "in `Open`, `Shut` and `Locked`, and on one arrow");
    }

    #[test]
    fn no_boxes_overlap_in_any_protocol() {
        for table in catalogue::ALL.iter().flat_map(|protocol| protocol.tables) {
            let layout = Layout::of(Graph::of(table));
            for (number, a) in layout.boxes.iter().enumerate() {
                for b in &layout.boxes[..number] {
                    let apart =
                        a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
                    assert!(apart, "{}: {a:?} {b:?}", table.name);
                }
                assert!(a.x >= 0.0 && a.y >= 0.0 && a.x + a.width <= layout.width && a.y + a.height <= layout.height);
            }
        }
    }

    #[test]
    fn every_change_of_state_of_a_table_is_an_arrow() {
        for table in catalogue::ALL.iter().flat_map(|protocol| protocol.tables) {
            let svg = svg(&[table]);
            for (state, event, cell) in table.cells() {
                if let crate::Cell::Go(next, _) = cell
                    && *next != state
                {
                    let arrow =
                        format!("<title>{} to {} on ", table.states[state as usize], table.states[*next as usize]);
                    let event = table.events[event as usize];
                    let named = svg.lines().any(|line| {
                        line.split_once(&arrow).is_some_and(|(_, rest)| {
                            rest.split("; on ").any(|on| on.split([':', '<', ';']).next() == Some(event))
                        })
                    });
                    assert!(named, "{}: {arrow}{event}", table.name);
                }
            }
        }
    }
}

//! A machine as a drawing: nested boxes, and the wires between them.
//!
//! The drawing is made from the machine's plan; elements are described by their sections of the machine file. Equal
//! elements are drawn once, with their number.

mod data;
mod parameters;
mod picture;
mod plan;

pub(crate) use data::of as plan_file;
pub use parameters::parameters;

use machine::Machine;
use plan::Part;

/// The drawing as text, with its title, at most 100 columns wide.
pub fn text(machine: &Machine) -> String {
    let parts = plan::of(machine);
    let lines = parts.iter().flat_map(|part| render(part, WIDTH));
    let drawn: String = lines.map(|line| line.trim_end().to_owned() + "\n").collect();
    let title = format!("{}: {}", machine.name, machine.about);
    format!("{}\n\n{drawn}", crate::text::wrap(&title, WIDTH, 2))
}

/// The drawing as SVG, to embed in a page.
pub(crate) fn svg(machine: &Machine) -> String {
    picture::svg(&plan::of(machine))
}

const WIDTH: usize = 98;

fn render(part: &Part, width: usize) -> Vec<String> {
    match part {
        Part::Line(text) => crate::text::wrap(text, width, 2).lines().map(str::to_owned).collect(),
        Part::Box { title, parts } => {
            let mut lines =
                vec![format!("+- {title} {}+", "-".repeat(width.saturating_sub(title.chars().count() + 5)))];
            for line in parts.iter().flat_map(|part| render(part, width - 4)) {
                let padding = " ".repeat((width - 4).saturating_sub(line.chars().count()));
                lines.push(format!("| {line}{padding} |"));
            }
            lines.push(format!("+{}+", "-".repeat(width - 2)));
            lines
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_shows_every_part_once_with_its_number_and_sizes() {
        let text = text(&Machine::load("r9nano", &[]).unwrap());
        for shown in [
            "array x 16",
            "compute unit x 4",
            "l1v: 16 KiB, 4 ways",
            "l2 x 16 banks",
            "memory x 16",
            "latency 100 cycles",
        ] {
            assert_eq!(text.matches(shown).count(), 1, "{shown} in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn a_drawing_of_a_machine_with_cores_shows_what_they_share_and_no_host_outside() {
        let text = text(&Machine::load("apu-c-l3", &[]).unwrap());
        for shown in ["core x 8", "l3 x 8 slices", "memory x 8 channels", "hub", "system_agent", "network: ring"] {
            assert!(text.contains(shown), "{shown} in\n{text}");
        }
        assert!(!text.contains("copy bandwidth"), "{text}");
    }

    #[test]
    fn a_change_is_in_the_drawing() {
        let changes = ["gpu.l2.size=4MiB".to_owned(), "gpu.arrays=3".to_owned()];
        let text = text(&Machine::load("r9nano", &changes).unwrap());
        assert!(text.contains("4MiB") && text.contains("array x 3"), "{text}");
    }
}

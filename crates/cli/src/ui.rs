//! How the command speaks to its user.

/// Human text, or JSON for programs.
pub struct Ui {
    pub json: bool,
}

//! placeholder
pub fn storage() -> Vec<crate::catalogue::Storage> {
    vec![]
}

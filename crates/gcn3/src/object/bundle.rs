//! Bundles of code objects for several targets, as clang writes them for HIP: extracts the one for gfx803.

use super::ObjectError;

const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";

/// The code object inside a bundle; any other file is returned unchanged.
pub fn unbundle(file: &[u8]) -> Result<&[u8], ObjectError> {
    let Some(entries) = file.strip_prefix(MAGIC) else { return Ok(file) };
    let cut = || ObjectError::Damaged { what: "the bundle of code objects".into(), detail: "its list is cut".into() };
    let mut rest = entries;
    let number = |rest: &mut &[u8]| -> Option<u64> {
        let (bytes, behind) = rest.split_first_chunk::<8>()?;
        *rest = behind;
        Some(u64::from_le_bytes(*bytes))
    };
    let count = number(&mut rest).ok_or_else(cut)?;
    let mut targets = Vec::new();
    for _ in 0..count {
        let mut entry = || -> Option<(u64, u64, &[u8])> {
            let (offset, size, length) = (number(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
            let (target, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            rest = behind;
            Some((offset, size, target))
        };
        let (offset, size, target) = entry().ok_or_else(cut)?;
        let target = String::from_utf8_lossy(target).into_owned();
        // Features such as `:xnack-` may follow the processor.
        if target.split(':').next().is_some_and(|target| target.ends_with("gfx803")) {
            let end = offset.checked_add(size).ok_or_else(cut)?;
            let (start, end) = (usize::try_from(offset), usize::try_from(end));
            return start.ok().zip(end.ok()).and_then(|(start, end)| file.get(start..end)).ok_or_else(cut);
        }
        targets.push(target);
    }
    Err(ObjectError::Target { found: format!("other targets (a bundle for {})", targets.join(", ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let list: usize = entries.iter().map(|(target, _)| 24 + target.len()).sum();
        let mut offset = (MAGIC.len() + 8 + list) as u64;
        let mut file = [MAGIC, &(entries.len() as u64).to_le_bytes()].concat();
        for (target, content) in entries {
            file.extend([offset, content.len() as u64, target.len() as u64].map(u64::to_le_bytes).concat());
            file.extend(target.bytes());
            offset += content.len() as u64;
        }
        file.extend(entries.iter().flat_map(|(_, content)| *content));
        file
    }

    #[test]
    fn the_object_for_gfx803_is_taken_out() {
        let host: (&str, &[u8]) = ("host-x86_64-unknown-linux", b"");
        let file = bundle(&[
            host,
            ("hipv4-amdgcn-amd-amdhsa--gfx900", b"nine"),
            ("hipv4-amdgcn-amd-amdhsa--gfx803", b"eight"),
        ]);
        assert_eq!(unbundle(&file), Ok(&b"eight"[..]));
        assert_eq!(unbundle(b"anything else"), Ok(&b"anything else"[..]));
    }

    #[test]
    fn a_bundle_without_it_is_refused_with_what_it_holds() {
        let file = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx900", b"nine")]);
        let text = unbundle(&file).unwrap_err().to_string();
        assert!(text.contains("(a bundle for hipv4-amdgcn-amd-amdhsa--gfx900), but cohesim runs gfx803"), "{text}");
    }

    #[test]
    fn a_cut_bundle_is_an_error() {
        let file = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx803", b"eight")]);
        for end in MAGIC.len()..file.len() {
            assert!(unbundle(&file[..end]).is_err(), "{end} bytes");
        }
    }
}

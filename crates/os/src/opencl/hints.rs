//! Hints for kernels that clang rejects although other OpenCL C compilers accept them.

/// An error message of clang, and how to fix its cause.
struct Hint {
    /// The hint applies if one line of the log contains all of these.
    words: &'static [&'static str],
    fix: &'static str,
}

const PLAIN_ATOMICS: &str = "OpenCL C has no plain reads and writes of atomic variables, though some compilers accept them: \
    write atomic_store(&x, v) instead of x = v (atomic_init(&x, v) if nothing else accesses x yet), atomic_load(&x) instead of \
    reading x, and atomic_fetch_add(&x, n) instead of x += n or x++";
const NEW_ATOMICS: &str = "types such as atomic_int belong to OpenCL C 2.0: add -cl-std=CL2.0 to the options of clBuildProgram, or \
    use int with atomic_add, atomic_inc and the like, which OpenCL C 1.2 has";

const HINTS: [Hint; 4] = [
    Hint { words: &["atomic variable can be assigned to a variable only in global address space"], fix: PLAIN_ATOMICS },
    Hint { words: &["invalid operands to binary expression", "_Atomic("], fix: PLAIN_ATOMICS },
    Hint { words: &["invalid argument type", "_Atomic("], fix: PLAIN_ATOMICS },
    Hint { words: &["unknown type name 'atomic_"], fix: NEW_ATOMICS },
];

/// Appends the applicable hints to a build log, each once.
pub fn with_hints(mut log: String) -> String {
    let applies = |hint: &&Hint| log.lines().any(|line| hint.words.iter().all(|words| line.contains(words)));
    let mut fixes: Vec<&str> = HINTS.iter().filter(applies).map(|hint| hint.fix).collect();
    fixes.dedup();
    for fix in fixes {
        log.push_str(&format!("hint: {fix}\n"));
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fix_is_proposed_once_and_only_where_it_helps() {
        let log = "program.cl:3:31: error: atomic variable can be assigned to a variable only in global address space\n\
            program.cl:8:5: error: invalid operands to binary expression ('__local atomic_int' (aka '__local _Atomic(int)') and 'int')\n";
        let helped = with_hints(log.into());
        assert!(helped.starts_with(log));
        assert_eq!(helped.matches("hint: ").count(), 1, "{helped}");
        assert!(helped.contains("atomic_store(&x, v)"), "{helped}");
        assert!(with_hints("error: unknown type name 'atomic_int'\n".into()).contains("-cl-std=CL2.0"));
        let other = "error: invalid operands to binary expression ('float4' and 'int *')\n";
        assert_eq!(with_hints(other.into()), other);
    }
}

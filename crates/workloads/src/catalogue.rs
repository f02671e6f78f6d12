//! The list of all workloads.

use crate::workload::Workload;

macro_rules! catalogue {
    ($($module:ident),* $(,)?) => {
        /// Every workload, in the order in which they are listed.
        pub static ALL: &[Workload] = &[$(crate::$module::WORKLOAD),*];
    };
}
catalogue!(
    vecadd,
    write,
    relu,
    transpose,
    matmul,
    convolution,
    edge,
    stencil,
    hotspot,
    fir,
    dct,
    fft,
    fast_walsh,
    reduction,
    scan,
    histogram,
    bitonic_sort,
    spmv,
    bfs,
    floyd_warshall,
    lud,
    needleman_wunsch,
    kmeans,
    knn,
    backprop,
    n_body,
    black_scholes,
    aes,
    atax,
    bicg,
    max_pooling,
    xtreme1,
    xtreme2,
    xtreme3,
    haar_wavelet,
    mersenne_twister,
    radix_sort,
    sobel,
    betweenness,
    colouring_max,
    colouring_maxmin,
    floyd_warshall_blocked,
    independent_set,
    pagerank,
    pagerank_spmv,
    pathfinder,
    cp,
    mri_q,
    mri_fhd,
    pns,
    rpes,
    sad,
    tpacf,
);

/// The workload called `name`; `_` and `-` are equivalent.
pub fn find(name: &str) -> Option<&'static Workload> {
    let name = name.replace('_', "-");
    ALL.iter().find(|workload| workload.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_have_different_names() {
        let mut names: Vec<_> = ALL.iter().map(|w| w.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn a_workload_is_found_by_either_spelling() {
        assert_eq!(find("floyd_warshall").unwrap().name, "floyd-warshall");
        assert_eq!(find("floyd-warshall").unwrap().name, "floyd-warshall");
        assert!(find("nothing").is_none());
    }
}

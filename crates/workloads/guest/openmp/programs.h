// The programs for the CPU alone, in the order of src/openmp.rs. Included with PROGRAM defined as what to make of each.
PROGRAM(backprop_omp)
PROGRAM(lud_omp)
PROGRAM(kmeans_omp)
PROGRAM(hotspot_omp)
PROGRAM(needleman_wunsch_omp)
PROGRAM(bfs_omp)

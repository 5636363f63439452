// k-means: assign points to the nearest centre, and gather fixed-point sums for the next centres.
#define DIMENSIONS 4

kernel void assign(global const float *restrict points, global const float *restrict centres,
                   global int *restrict labels, global int *restrict sums, global int *restrict counts, int n, int k)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float point[DIMENSIONS];
    for (int d = 0; d < DIMENSIONS; d++)
        point[d] = points[d * n + i];
    int best = 0;
    float best_distance = INFINITY;
    for (int c = 0; c < k; c++) {
        float distance = 0.0f;
        for (int d = 0; d < DIMENSIONS; d++) {
            float delta = point[d] - centres[c * DIMENSIONS + d];
            distance += delta * delta;
        }
        if (distance < best_distance) {
            best_distance = distance;
            best = c;
        }
    }
    labels[i] = best;
    atomic_add(&counts[best], 1);
    for (int d = 0; d < DIMENSIONS; d++)
        atomic_add(&sums[best * DIMENSIONS + d], convert_int_rte(point[d] * 1024.0f));
}

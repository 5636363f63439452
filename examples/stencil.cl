// One Jacobi step of the heat equation in three dimensions, double precision.
kernel void stencil(global const double *restrict in, global double *restrict out, int nx, int ny, int nz, double alpha)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    size_t i = ((size_t)z * ny + y) * nx + x;
    if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) {
        out[i] = in[i];
        return;
    }
    double centre = in[i];
    double sum = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - (size_t)nx * ny] + in[i + (size_t)nx * ny];
    out[i] = centre + alpha * (sum - 6.0 * centre) / (1.0 + fabs(centre));
}

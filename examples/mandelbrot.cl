// Escape times; neighbouring lanes leave the loop at different iterations.
kernel void mandelbrot(global uint *restrict out, int width, float x0, float y0, float scale, uint limit)
{
    int px = get_global_id(0), py = get_global_id(1);
    float cx = x0 + px * scale, cy = y0 + py * scale;
    float x = 0.0f, y = 0.0f;
    uint n = 0;
    while (n < limit) {
        float x2 = x * x, y2 = y * y;
        if (x2 + y2 > 4.0f)
            break;
        y = 2.0f * x * y + cy;
        x = x2 - y2 + cx;
        n++;
    }
    out[py * width + px] = n;
}

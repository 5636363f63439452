// base^exponent mod modulus with 64-bit operands: 128-bit products, shift-and-subtract reduction.
static ulong multiply_modulo(ulong a, ulong b, ulong m)
{
    ulong high = mul_hi(a, b), low = a * b;
    for (int i = 0; i < 64; i++) {
        ulong carry = high >> 63;
        high = (high << 1) | (low >> 63);
        low <<= 1;
        if (carry || high >= m)
            high -= m;
    }
    return high;
}

kernel void modexp(global const ulong *restrict base, global const ulong *restrict exponent,
                   global const ulong *restrict modulus, global ulong *restrict result)
{
    size_t i = get_global_id(0);
    ulong m = modulus[i], b = base[i] % m, e = exponent[i], r = 1 % m;
    while (e != 0) {
        if (e & 1)
            r = multiply_modulo(r, b, m);
        b = multiply_modulo(b, b, m);
        e >>= 1;
    }
    result[i] = r;
}

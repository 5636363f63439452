#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { uint o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
layout(set = 0, binding = 2) readonly buffer K { uint k[64]; };
uint rotr(uint x, int n) { return (x >> n) | (x << (32 - n)); }
void main() {
    uint g = gl_GlobalInvocationID.x;
    uint w[16];
    for (int i = 0; i < 16; i++) w[i] = a[g * 16 + i];
    uint s[8] = uint[8](0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u);
    uint h[8] = s;
    for (int r = 0; r < 64; r += 16) {
        for (int i = 0; i < 16; i++) {
            uint e = rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25);
            uint t1 = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[r + i] + w[i];
            uint t2 = (rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
            s = uint[8](t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]);
        }
        for (int i = 0; i < 16; i++) {
            uint x = w[(i + 1) & 15], y = w[(i + 14) & 15];
            w[i] += (rotr(x, 7) ^ rotr(x, 18) ^ (x >> 3)) + w[(i + 9) & 15] + (rotr(y, 17) ^ rotr(y, 19) ^ (y >> 10));
        }
    }
    for (int i = 0; i < 8; i++) o[g * 8 + i] = h[i] + s[i];
}

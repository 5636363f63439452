// Case-insensitive search for a word; every lane tries one position, byte by byte.
static uchar lower(uchar c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

kernel void find(global const uchar *restrict text, int length, constant uchar *word, int word_length,
                 global int *restrict positions, global int *restrict count)
{
    int start = get_global_id(0);
    if (start + word_length > length)
        return;
    for (int i = 0; i < word_length; i++)
        if (lower(text[start + i]) != word[i])
            return;
    positions[atomic_inc(count)] = start;
}

/* test_hostile.c: files that lie: each is refused, by a message that names what is wrong. */
#include "test_gguf.h"

void hostile_counts(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    put_head(&b, 3, 1ull << 60, 0);
    refused(&b, "1152921504606846976 tensors");
    put_head(&b, 3, UINT64_MAX, 0);
    refused(&b, "18446744073709551615 tensors");
    put_head(&b, 3, 0, 1ull << 60);
    put_zeros(&b, 4000);
    refused(&b, "1152921504606846976 metadata entries", "4000 bytes");
    put_head(&b, 3, 0, 3);
    put_kv(&b, "a", GGUF_U64, 1, 8);
    put_kv(&b, "b", GGUF_U64, 1, 8);
    refused(&b, "truncated", "offset 66");
    put_head(&b, 3, 2, 0);
    put_info(&b, "a", 8, 1, DTYPE_F32, 0);
    put_pad(&b, 32);
    put_zeros(&b, 32);
    refused(&b, "a tensor's name at offset 65");
}

void hostile_metadata(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    put_head(&b, 3, 0, 1);
    put_kv(&b, "key", 13, 0, 8);
    refused(&b, "key \"key\"", "unknown value type: 13");
    put_head(&b, 3, 0, 1);
    put(&b, UINT64_MAX, 8);
    put_zeros(&b, 100);
    refused(&b, "a metadata key at offset 24", "18446744073709551615");
    put_head(&b, 3, 0, 1);
    put(&b, 1000, 8);
    put_zeros(&b, 100);
    refused(&b, "a metadata key at offset 32 needs 1000 bytes, 100 are left");
    put_head(&b, 3, 0, 1);
    put_kv(&b, "", GGUF_U8, 0, 1);
    put_zeros(&b, 100);
    refused(&b, "length 0, expected 1 to 65535");
    put_head(&b, 3, 0, 1);
    put_kv_text(&b, "key", "value");
    b.len -= 2;
    refused(&b, "key \"key\"", "a string is longer than the file");
    put_head(&b, 3, 0, 1);
    put_text(&b, "key");
    put(&b, GGUF_STRING, 4);
    put(&b, UINT64_MAX - 3, 8);
    refused(&b, "key \"key\"", "longer than the file");
    put_head(&b, 3, 0, 1);
    put_kv(&b, "flag", GGUF_BOOL, 2, 1);
    refused(&b, "key \"flag\"", "a bool must be 0 or 1, found 2");
    put_head(&b, 3, 0, 2);
    put_kv(&b, "twice", GGUF_U8, 2, 1);
    put_kv(&b, "twice", GGUF_U16, 2, 2);
    refused(&b, "key \"twice\" appears twice");
    put_head(&b, 3, 0, 1);
    put_kv(&b, "evil\033[2J", GGUF_BOOL, 7, 1);
    refused(&b, "key \"evil?[2J\""); /* no control characters reach the terminal */
}

void hostile_arrays(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    static const uint64_t sizes[] = { 101, 1ull << 32, 1ull << 60, 1ull << 61, 1ull << 63, UINT64_MAX };
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        for (uint32_t elem = GGUF_U8; elem <= GGUF_F64; elem++) {
            put_head(&b, 3, 0, 1);
            put_kv_array(&b, "key", elem, sizes[i]);
            put_zeros(&b, 100);
            refused(&b, "key \"key\"", elem == GGUF_ARRAY ? "arrays of arrays" : "longer than the file");
        }
    put_head(&b, 3, 0, 1);
    put_kv_array(&b, "key", 99, 1);
    refused(&b, "unknown type of array elements: 99");
    put_head(&b, 3, 0, 1);
    put_kv_array(&b, "key", GGUF_STRING, 2);
    put_text(&b, "a string that fits");
    put(&b, 1000, 8);
    refused(&b, "a string is longer than the file: 1000");
    put_head(&b, 3, 0, 1);
    put_kv_array(&b, "key", GGUF_STRING, 2);
    put_text(&b, "the second has no length");
    refused(&b, "a string needs 8 bytes");
    put_head(&b, 3, 0, 1);
    put_kv_array(&b, "key", GGUF_BOOL, 3);
    put(&b, 0x020101, 3);
    refused(&b, "must be 0 or 1, found 2");
}

/* One tensor, with data enough for a small one. */
static void one_tensor(struct strbuf *b, uint32_t n_dims, const uint64_t *dims, uint32_t type,
                       uint64_t offset)
{
    put_head(b, 3, 1, 0);
    put_text(b, "blk.0.w");
    put(b, n_dims, 4);
    for (uint32_t i = 0; i < n_dims; i++)
        put(b, dims[i], 8);
    put(b, type, 4);
    put(b, offset, 8);
    put_pad(b, 32);
    put_zeros(b, 1024);
}

void hostile_tensors(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    static const uint64_t d[8] = { 32, 2, 1, 1, 1, 1, 1, 1 };
    one_tensor(&b, 4, d, DTYPE_F32, 0);
    gguf_close(accepted(&b));
    strbuf_free(&b);
    one_tensor(&b, 0, d, DTYPE_F32, 0);
    refused(&b, "tensor \"blk.0.w\"", "0 dimensions, expected 1 to 4");
    one_tensor(&b, 5, d, DTYPE_F32, 0);
    refused(&b, "tensor \"blk.0.w\"", "5 dimensions, expected 1 to 4");
    put_head(&b, 3, 1, 0);
    put_text(&b, "w");
    put(&b, UINT32_MAX, 4);
    put_zeros(&b, 100);
    refused(&b, "4294967295 dimensions");
    one_tensor(&b, 2, (const uint64_t[]){ 32, 0 }, DTYPE_F32, 0);
    refused(&b, "tensor \"blk.0.w\"", "dimension 1 is zero");
    one_tensor(&b, 2, (const uint64_t[]){ 0, 32 }, DTYPE_Q4_0, 0);
    refused(&b, "dimension 0 is zero");
    one_tensor(&b, 2, (const uint64_t[]){ 48, 32 }, DTYPE_Q8_0, 0);
    refused(&b, "rows of 48 elements", "multiple of 32 for type Q8_0");
    one_tensor(&b, 2, (const uint64_t[]){ 128, 2 }, DTYPE_Q6_K, 0);
    refused(&b, "rows of 128 elements", "multiple of 256 for type Q6_K");
    one_tensor(&b, 2, (const uint64_t[]){ 1ull << 32, 1ull << 32 }, DTYPE_F32, 0);
    refused(&b, "product of its dimensions overflows");
    one_tensor(&b, 4, (const uint64_t[]){ 32, 1ull << 59, 16, 2 }, DTYPE_F32, 0);
    refused(&b, "product of its dimensions overflows");
    one_tensor(&b, 1, (const uint64_t[]){ UINT64_MAX }, DTYPE_I8, 0);
    refused(&b, "overflows");
    one_tensor(&b, 1, (const uint64_t[]){ 1ull << 62 }, DTYPE_F32, 0);
    refused(&b, "size in bytes overflows");
    one_tensor(&b, 1, (const uint64_t[]){ 1ull << 61 }, DTYPE_F32, 0);
    refused(&b, "size in bytes overflows");
    one_tensor(&b, 1, (const uint64_t[]){ 1ull << 61 }, DTYPE_F16, 0);
    refused(&b, "truncated", "bytes are missing");
    one_tensor(&b, 2, d, DTYPE_F32, 16);
    refused(&b, "offset 16 is not a multiple of the alignment 32");
    one_tensor(&b, 2, d, DTYPE_F32, UINT64_MAX - 31);
    refused(&b, "offset overflows");
    one_tensor(&b, 2, d, DTYPE_F32, 1024);
    refused(&b, "truncated: tensor \"blk.0.w\"", "256 bytes are missing");
    one_tensor(&b, 2, d, DTYPE_F32, 768);
    gguf_close(accepted(&b));
    strbuf_free(&b);
    static const uint32_t types[] = { 4, 5, 31, 36, 43, 1000, UINT32_MAX };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        char text[32];
        snprintf(text, sizeof text, "unknown type %u;", types[i]);
        one_tensor(&b, 2, d, types[i], 0);
        refused(&b, "tensor \"blk.0.w\"", text, "0 F32, 1 F16, 2 Q4_0", "42 Q2_0");
    }
}

void hostile_tensor_names(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    char name[66];
    memset(name, 'n', 65);
    name[65] = 0;
    put_head(&b, 3, 1, 0);
    put_info(&b, name, 8, 1, DTYPE_F32, 0);
    put_zeros(&b, 128);
    refused(&b, "a tensor's name at offset 24", "length 65, expected 1 to 64");
    put_head(&b, 3, 1, 0);
    put_info(&b, name + 1, 8, 1, DTYPE_F32, 0);
    put_zeros(&b, 128);
    gguf_close(accepted(&b));
    strbuf_free(&b);
    put_head(&b, 3, 1, 0);
    put_info(&b, "", 8, 1, DTYPE_F32, 0);
    put_zeros(&b, 128);
    refused(&b, "length 0");
    put_head(&b, 3, 2, 0);
    put_info(&b, "same", 8, 1, DTYPE_F32, 0);
    put_info(&b, "same", 8, 1, DTYPE_F32, 32);
    put_pad(&b, 32);
    put_zeros(&b, 64);
    refused(&b, "tensor \"same\" appears twice");
    put_head(&b, 3, 3, 0);
    put_info(&b, "first", 8, 1, DTYPE_F32, 64);
    put_info(&b, "apart", 8, 1, DTYPE_F32, 0);
    put_info(&b, "second", 8, 2, DTYPE_F32, 32);
    put_pad(&b, 32);
    put_zeros(&b, 96);
    refused(&b, "overlap", "\"first\"", "\"second\"");
}

/* Each prefix of a good file and each flipped bit: an error or a file, never anything else. The
 * sanitizers watch. */
void hostile_damage(void **state)
{
    (void)state;
    struct strbuf b = { 0 };
    struct error err;
    put_head(&b, 3, 2, 3);
    put_kv_text(&b, "general.architecture", "llama");
    put_kv_array(&b, "tokens", GGUF_STRING, 2);
    put_text(&b, "a");
    put_text(&b, "bc");
    put_kv(&b, "general.alignment", GGUF_U32, 32, 4);
    put_info(&b, "x", 32, 2, DTYPE_Q8_0, 0);
    put_info(&b, "y", 8, 1, DTYPE_F32, 96);
    put_pad(&b, 32);
    put_zeros(&b, 128);
    gguf_close(accepted(&b));
    for (size_t n = 0; n < b.len; n++) {
        char *copy = malloc(n + 1); /* exact size, for the sanitizer */
        memcpy(copy, b.s, n);
        struct gguf *g = gguf_parse("mem.gguf", copy, n, &err);
        assert_null(g);
        free(copy);
    }
    for (size_t bit = 0; bit < 8 * b.len; bit++) {
        b.s[bit / 8] = (char)(b.s[bit / 8] ^ 1 << bit % 8);
        gguf_close(gguf_parse("mem.gguf", b.s, b.len, &err));
        b.s[bit / 8] = (char)(b.s[bit / 8] ^ 1 << bit % 8);
    }
    strbuf_free(&b);
}

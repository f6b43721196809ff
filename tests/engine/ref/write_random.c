/* write_random FAMILY SHAPE OUT.gguf [f32]: shape number SHAPE of a family as a file, all weights F32 if asked; prints
 * tokens for it. */
#include "make_random.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct error err = { 0 };
    struct random_spec s;
    int32_t tok[28];
    if (argc < 4 || atoi(argv[2]) < 0 || atoi(argv[2]) >= random_spec_count(argv[1])) {
        fprintf(stderr, "usage: write_random FAMILY SHAPE OUT.gguf [f32]\n");
        return 2;
    }
    random_spec_at(&s, argv[1], atoi(argv[2]));
    if (argc > 4)
        s.weights = s.experts = DTYPE_F32;
    if (random_write(argv[3], &s, &err) != 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    random_tokens(&s, tok, 28);
    for (int i = 0; i < 28; i++)
        printf("%d%s", (int)tok[i], i < 27 ? " " : "\n");
    return 0;
}

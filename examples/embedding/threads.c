/* One compiler, many threads: each compiles modules of its own, and all that compile the same one get the same bytes. */
#include <gcnc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 16, ROUNDS = 2, MODULES = 8 };

static const gcnc_compiler *compiler;
static gcnc_object *made[THREADS][ROUNDS];

static gcnc_object *compile(unsigned module)
{
    char text[512];
    snprintf(text, sizeof text,
             "define amdgpu_kernel void @k%u(ptr addrspace(1) %%p, i32 %%n) {\n"
             "entry:\n  br label %%loop\n"
             "loop:\n  %%i = phi i32 [ 0, %%entry ], [ %%j, %%loop ]\n"
             "  %%at = getelementptr i32, ptr addrspace(1) %%p, i32 %%i\n"
             "  %%old = load i32, ptr addrspace(1) %%at\n  %%new = mul i32 %%old, %u\n"
             "  store i32 %%new, ptr addrspace(1) %%at\n  %%j = add i32 %%i, 1\n"
             "  %%more = icmp ult i32 %%j, %%n\n  br i1 %%more, label %%loop, label %%done\n"
             "done:\n  ret void\n}\n",
             module, module + 3);
    gcnc_input input = {(const uint8_t *)text, strlen(text)};
    gcnc_object *object = NULL;
    gcnc_error *error = NULL;
    if (gcnc_compile(compiler, &input, 1, GCNC_OUTPUT_LOADABLE, NULL, &object, &error) != GCNC_STATUS_OK) {
        fprintf(stderr, "%s\n", gcnc_error_text(error));
        gcnc_error_free(error);
    }
    return object;
}

static void *work(void *argument)
{
    unsigned thread = (unsigned)(size_t)argument;
    for (unsigned round = 0; round < ROUNDS; round++)
        made[thread][round] = compile((thread + round) % MODULES);
    return NULL;
}

/* `--cold`: the threads' compilations are the process's first ones. */
int main(int count, char **words)
{
    int cold = count > 1 && strcmp(words[1], "--cold") == 0;
    gcnc_options *options = gcnc_options_new("gfx900");
    gcnc_compiler *shared = NULL;
    if (gcnc_compiler_new(options, &shared, NULL) != GCNC_STATUS_OK)
        return 1;
    gcnc_options_free(options);
    compiler = shared;
    if (!cold)
        gcnc_object_free(compile(0));

    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, work, (void *)t) != 0)
            abort();
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);

    gcnc_object *first[MODULES] = {NULL};
    unsigned same = 0;
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned round = 0; round < ROUNDS; round++) {
            gcnc_object *object = made[t][round], **other = &first[(t + round) % MODULES];
            if (*other == NULL)
                *other = object;
            size_t size = gcnc_object_size(object);
            same += size != 0 && size == gcnc_object_size(*other)
                && memcmp(gcnc_object_data(object), gcnc_object_data(*other), size) == 0;
        }
    }
    printf("%u of %d objects are as they must be\n", same, THREADS * ROUNDS);
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned round = 0; round < ROUNDS; round++)
            gcnc_object_free(made[t][round]);
    gcnc_compiler_free(shared);
    return same != THREADS * ROUNDS;
}

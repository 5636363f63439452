/* Compiles a kernel from C, says what launching it takes, and what is wrong with another. */
#include <gcnc.h>
#include <stdio.h>
#include <string.h>

static const char good[] =
    "define amdgpu_kernel void @store(ptr addrspace(1) %out, i32 %value) {\n"
    "  store i32 %value, ptr addrspace(1) %out\n"
    "  ret void\n"
    "}\n";
static const char bad[] = "define void @bad() { call void asm sideeffect \"s_nonesuch\", \"\"() ret void }\n";

static gcnc_status compile(const gcnc_compiler *compiler, const char *text, const gcnc_cancel *cancel)
{
    gcnc_input input = {(const uint8_t *)text, strlen(text)};
    gcnc_object *object = NULL;
    gcnc_error *error = NULL;
    gcnc_status status = gcnc_compile(compiler, &input, 1, GCNC_OUTPUT_LOADABLE, cancel, &object, &error);
    if (status != GCNC_STATUS_OK) {
        printf("status %d: %s\n", (int)status, gcnc_error_text(error));
        gcnc_diagnostic diagnostic = {.struct_size = sizeof diagnostic};
        if (gcnc_error_diagnostic(error, 0, &diagnostic) == GCNC_STATUS_OK)
            printf("in function: %s\n", diagnostic.function);
    }
    for (size_t k = 0; k < gcnc_object_kernel_count(object); k++) {
        gcnc_kernel kernel = {.struct_size = sizeof kernel};
        gcnc_object_kernel(object, k, &kernel);
        printf("%s: ELF %d, %u bytes of arguments\n", kernel.name, !memcmp(gcnc_object_data(object), "\x7f" "ELF", 4),
               (unsigned)kernel.kernarg_bytes);
        for (size_t a = 0; a < kernel.argument_count; a++) {
            gcnc_argument argument = {.struct_size = sizeof argument};
            gcnc_object_argument(object, k, a, &argument);
            if (strncmp(argument.kind, "hidden_", 7) != 0)
                printf("  %s at %u: %u bytes, %s\n", argument.name, (unsigned)argument.offset, (unsigned)argument.size, argument.kind);
        }
    }
    gcnc_object_free(object);
    gcnc_error_free(error);
    return status;
}

int main(void)
{
    gcnc_options *options = gcnc_options_new("gfx900");
    gcnc_options_set_opt_level(options, 2);
    gcnc_compiler *compiler = NULL;
    gcnc_error *error = NULL;
    if (gcnc_compiler_new(options, &compiler, &error) != GCNC_STATUS_OK) {
        fprintf(stderr, "%s\n", gcnc_error_text(error));
        gcnc_error_free(error);
        gcnc_options_free(options);
        return 1;
    }
    gcnc_cancel *cancel = gcnc_cancel_new();
    int wrong = compile(compiler, good, cancel) != GCNC_STATUS_OK;
    wrong |= compile(compiler, bad, cancel) != GCNC_STATUS_REFUSED;
    gcnc_cancel_pull(cancel);
    wrong |= compile(compiler, good, cancel) != GCNC_STATUS_CANCELLED;
    /* Null pointers are answered, not followed. */
    wrong |= gcnc_compile(NULL, NULL, 0, 0, NULL, NULL, NULL) != GCNC_STATUS_ARGUMENT;
    wrong |= gcnc_options_new(NULL) != NULL || gcnc_object_size(NULL) != 0;
    gcnc_cancel_free(cancel);
    gcnc_compiler_free(compiler);
    gcnc_options_free(options);
    return wrong;
}

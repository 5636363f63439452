// gcnc: LLVM IR to code objects for AMD GCN GPUs.
//
// Made by cbindgen from capi/src; `BLESS=1 cargo test --release -p gcnc-capi --test header` writes it anew.
//
// All functions may be called from any thread. A compiler, a token and an object may be used by several threads at once; options by one at
// a time. Nothing here aborts or throws: a null pointer where none may be is GCNC_STATUS_ARGUMENT, or 0 from functions without a status. What a
// `_new`, `_compile` or `_compiler_new` function gives is the caller's, to be freed once by the `_free` function of its type, which
// takes null. Strings end with a zero byte and live as long as what they are asked of.


#ifndef GCNC_H
#define GCNC_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

// What became of a call.
typedef enum gcnc_status {
  // Done.
  GCNC_STATUS_OK = 0,
  // A pointer that must not be null is, or a string is not UTF-8.
  GCNC_STATUS_ARGUMENT = 1,
  // The options are wrong: an unknown processor or feature, options that contradict each other.
  GCNC_STATUS_OPTIONS = 2,
  // The input was refused; the error has a diagnostic for each function that was.
  GCNC_STATUS_REFUSED = 3,
  // The compiler is wrong, and says so.
  GCNC_STATUS_DEFECT = 4,
  // A token was pulled.
  GCNC_STATUS_CANCELLED = 5,
  // The compilation did not end in time.
  GCNC_STATUS_DEADLINE = 6,
  // The compilation takes more memory than allowed.
  GCNC_STATUS_MEMORY = 7,
} gcnc_status;

// Whose fault a failure is.
typedef enum gcnc_kind {
  // The input is legal but asks for something that gcnc or the target cannot do.
  GCNC_KIND_UNSUPPORTED = 0,
  // The input is not what it claims to be.
  GCNC_KIND_MALFORMED = 1,
  // The input exceeds a limit of the target.
  GCNC_KIND_LIMIT = 2,
  // gcnc is wrong.
  GCNC_KIND_DEFECT = 3,
} gcnc_kind;

// Cancels compilations, from any thread.
typedef struct gcnc_cancel gcnc_cancel;

// A target with options.
typedef struct gcnc_compiler gcnc_compiler;

// Why there is no object.
typedef struct gcnc_error gcnc_error;

// Bytes that were made, with what is known of their kernels.
typedef struct gcnc_object gcnc_object;

// Options of a compiler.
typedef struct gcnc_options gcnc_options;

// A module: bitcode or text.
typedef struct gcnc_input {
  // The bytes.
  const uint8_t *data;
  // Number of bytes.
  size_t size;
} gcnc_input;

// What to make.
typedef uint32_t gcnc_output;

// What launching a kernel takes.
typedef struct gcnc_kernel {
  // Bytes of this struct as the caller knows it: `sizeof(gcnc_kernel)`.
  size_t struct_size;
  // Name in the source.
  const char *name;
  // Symbol of the descriptor.
  const char *symbol;
  // Number of arguments, those that the runtime fills in included.
  size_t argument_count;
  // Bytes of the block of arguments.
  uint32_t kernarg_bytes;
  // Alignment of the block of arguments.
  uint32_t kernarg_align;
  // Bytes of LDS of a work-group.
  uint32_t lds_bytes;
  // Bytes of scratch of a work-item.
  uint32_t scratch_bytes;
  // Scalar registers of a wave.
  uint32_t sgprs;
  // Vector registers of a wave.
  uint32_t vgprs;
  // Scalar registers that were spilled.
  uint32_t sgpr_spills;
  // Vector registers that were spilled.
  uint32_t vgpr_spills;
  // Work-items of a wave.
  uint32_t wave_size;
  // Most work-items of a work-group.
  uint32_t max_work_group_size;
  // Size that work-groups must have; zeros where the source does not say.
  uint32_t required_work_group_size[3];
} gcnc_kernel;

// An argument of a kernel.
typedef struct gcnc_argument {
  // Bytes of this struct as the caller knows it: `sizeof(gcnc_argument)`.
  size_t struct_size;
  // Name in the source, or an empty string.
  const char *name;
  // Type in the source, or an empty string.
  const char *type_name;
  // `by_value`, `global_buffer`, `dynamic_shared_pointer`, `hidden_...`.
  const char *kind;
  // Address space of a pointer, or an empty string.
  const char *address_space;
  // Offset in the block of arguments.
  uint32_t offset;
  // Bytes.
  uint32_t size;
} gcnc_argument;

// What is wrong with one function.
typedef struct gcnc_diagnostic {
  // Bytes of this struct as the caller knows it: `sizeof(gcnc_diagnostic)`.
  size_t struct_size;
  // Whose fault it is.
  enum gcnc_kind kind;
  // What is wrong.
  const char *message;
  // Function, or an empty string.
  const char *function;
  // Instruction, or an empty string.
  const char *instruction;
  // Source file, or an empty string.
  const char *file;
  // Line from 1; 0 where unknown.
  uint32_t line;
  // Column from 1; 0 where unknown.
  uint32_t column;
} gcnc_diagnostic;

// A code object that runtimes load, of any number of modules.
#define GCNC_OUTPUT_LOADABLE 0

// A relocatable object of one module.
#define GCNC_OUTPUT_RELOCATABLE 1

// Assembly text of one module.
#define GCNC_OUTPUT_ASSEMBLY 2

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Version of the library, such as `0.1.0`.
const char *gcnc_version(void);

// Makes a compiler. On failure `compiler` becomes null and `error`, unless it is null, says why.
//
// # Safety
// `options` is null or live, `compiler` and `error` null or may be written.
enum gcnc_status gcnc_compiler_new(const struct gcnc_options *options,
                                   struct gcnc_compiler **compiler,
                                   struct gcnc_error **error);

// Frees a compiler.
//
// # Safety
// `compiler` is null or from `gcnc_compiler_new`, and not used any more.
void gcnc_compiler_free(struct gcnc_compiler *compiler);

// A token that nobody has pulled.
struct gcnc_cancel *gcnc_cancel_new(void);

// Ends all compilations that have this token, and those that will get it.
//
// # Safety
// `cancel` is null or live.
void gcnc_cancel_pull(const struct gcnc_cancel *cancel);

// Frees a token; compilations that have it go on.
//
// # Safety
// `cancel` is null or from `gcnc_cancel_new`, and not used any more.
void gcnc_cancel_free(struct gcnc_cancel *cancel);

// Compiles `count` modules to `output`. `cancel` may be null. On success `object` is the result; on failure it becomes null and `error`,
// unless it is null, says why.
//
// # Safety
// `compiler` and `cancel` are null or live; `inputs` is null or points to `count` inputs, each null or with `size` bytes; `object` and
// `error` are null or may be written.
enum gcnc_status gcnc_compile(const struct gcnc_compiler *compiler,
                              const struct gcnc_input *inputs,
                              size_t count,
                              gcnc_output output,
                              const struct gcnc_cancel *cancel,
                              struct gcnc_object **object,
                              struct gcnc_error **error);

// Frees an object.
//
// # Safety
// `object` is null or from `gcnc_compile`, and neither it nor its strings are used any more.
void gcnc_object_free(struct gcnc_object *object);

// The bytes of the file; null where `object` is null.
//
// # Safety
// As all that asks: `object` is null or live.
const uint8_t *gcnc_object_data(const struct gcnc_object *object);

// Number of bytes of the file.
//
// # Safety
// As all that asks.
size_t gcnc_object_size(const struct gcnc_object *object);

// Whether the cache had it.
//
// # Safety
// As all that asks.
bool gcnc_object_is_from_cache(const struct gcnc_object *object);

// Number of kernels.
//
// # Safety
// As all that asks.
size_t gcnc_object_kernel_count(const struct gcnc_object *object);

// Fills `kernel` in, whose `struct_size` the caller has set. GCNC_STATUS_ARGUMENT where there is no such kernel.
//
// # Safety
// `object` is null or live, `kernel` null or of its `struct_size`.
enum gcnc_status gcnc_object_kernel(const struct gcnc_object *object,
                                    size_t index,
                                    struct gcnc_kernel *kernel);

// Fills `argument` in, whose `struct_size` the caller has set. GCNC_STATUS_ARGUMENT where there is no such argument.
//
// # Safety
// `object` is null or live, `argument` null or of its `struct_size`.
enum gcnc_status gcnc_object_argument(const struct gcnc_object *object,
                                      size_t kernel,
                                      size_t index,
                                      struct gcnc_argument *argument);

// Number of warnings.
//
// # Safety
// As all that asks.
size_t gcnc_object_warning_count(const struct gcnc_object *object);

// A warning; null where there is no such.
//
// # Safety
// As all that asks.
const char *gcnc_object_warning(const struct gcnc_object *object, size_t index);

// Frees an error.
//
// # Safety
// `error` is null or from this library, and neither it nor its strings are used any more.
void gcnc_error_free(struct gcnc_error *error);

// Everything that went wrong, a line each; an empty string where `error` is null.
//
// # Safety
// As all that asks: `error` is null or live.
const char *gcnc_error_text(const struct gcnc_error *error);

// Number of diagnostics.
//
// # Safety
// As all that asks.
size_t gcnc_error_count(const struct gcnc_error *error);

// Fills `diagnostic` in, whose `struct_size` the caller has set. GCNC_STATUS_ARGUMENT where there is no such diagnostic.
//
// # Safety
// `error` is null or live, `diagnostic` null or of its `struct_size`.
enum gcnc_status gcnc_error_diagnostic(const struct gcnc_error *error,
                                       size_t index,
                                       struct gcnc_diagnostic *diagnostic);

// Options for a processor, by LLVM's name (`gfx600` to `gfx90c`); null where `processor` is null or not UTF-8.
//
// # Safety
// `processor` is null or a string that ends with a zero byte.
struct gcnc_options *gcnc_options_new(const char *processor);

// Frees options.
//
// # Safety
// `options` is null or from `gcnc_options_new`, and not used any more.
void gcnc_options_free(struct gcnc_options *options);

// Optimisation level, 0 to 3; 2 without this.
//
// # Safety
// As all setters: `options` is null or from `gcnc_options_new`, and used by nobody else meanwhile; strings are null or end with a zero byte.
enum gcnc_status gcnc_options_set_opt_level(struct gcnc_options *options,
                                            uint8_t level);

// Target triple in place of the modules'.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_triple(struct gcnc_options *options, const char *triple);

// Switches a target feature: `+xnack`, `-flat-for-global`.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_add_feature(struct gcnc_options *options, const char *feature);

// Code object version, 2 to 6; without this that of the module, or 6.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_code_object_version(struct gcnc_options *options, uint8_t version);

// Threads that work for one compilation, in a pool of the compiler's own. 1, which is the default, is the caller's thread.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_threads(struct gcnc_options *options,
                                          size_t threads);

// Most milliseconds that a compilation may take.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_time_limit(struct gcnc_options *options, uint64_t milliseconds);

// Most bytes of memory that a compilation may take, as estimated.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_memory_limit(struct gcnc_options *options, uint64_t bytes);

// The address of a function or variable that modules declare and the host provides.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_add_symbol(struct gcnc_options *options, const char *name, uint64_t address);

// Keeps code objects in a folder, at most `bytes` of them; several processes may use it at once.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_cache(struct gcnc_options *options, const char *folder, uint64_t bytes);

// Options for a processor, by LLVM's name (`gfx600` to `gfx90c`); null where `processor` is null or not UTF-8.
//
// # Safety
// `processor` is null or a string that ends with a zero byte.
struct gcnc_options *gcnc_options_new(const char *processor);

// Frees options.
//
// # Safety
// `options` is null or from `gcnc_options_new`, and not used any more.
void gcnc_options_free(struct gcnc_options *options);

// Optimisation level, 0 to 3; 2 without this.
//
// # Safety
// As all setters: `options` is null or from `gcnc_options_new`, and used by nobody else meanwhile; strings are null or end with a zero byte.
enum gcnc_status gcnc_options_set_opt_level(struct gcnc_options *options,
                                            uint8_t level);

// Target triple in place of the modules'.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_triple(struct gcnc_options *options, const char *triple);

// Switches a target feature: `+xnack`, `-flat-for-global`.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_add_feature(struct gcnc_options *options, const char *feature);

// Code object version, 2 to 6; without this that of the module, or 6.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_code_object_version(struct gcnc_options *options, uint8_t version);

// Threads that work for one compilation, in a pool of the compiler's own. 1, which is the default, is the caller's thread.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_threads(struct gcnc_options *options,
                                          size_t threads);

// Most milliseconds that a compilation may take.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_time_limit(struct gcnc_options *options, uint64_t milliseconds);

// Most bytes of memory that a compilation may take, as estimated.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_memory_limit(struct gcnc_options *options, uint64_t bytes);

// The address of a function or variable that modules declare and the host provides.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_add_symbol(struct gcnc_options *options, const char *name, uint64_t address);

// Keeps code objects in a folder, at most `bytes` of them; several processes may use it at once.
//
// # Safety
// As all setters.
enum gcnc_status gcnc_options_set_cache(struct gcnc_options *options, const char *folder, uint64_t bytes);

// Makes a compiler. On failure `compiler` becomes null and `error`, unless it is null, says why.
//
// # Safety
// `options` is null or live, `compiler` and `error` null or may be written.
enum gcnc_status gcnc_compiler_new(const struct gcnc_options *options,
                                   struct gcnc_compiler **compiler,
                                   struct gcnc_error **error);

// Frees a compiler.
//
// # Safety
// `compiler` is null or from `gcnc_compiler_new`, and not used any more.
void gcnc_compiler_free(struct gcnc_compiler *compiler);

// A token that nobody has pulled.
struct gcnc_cancel *gcnc_cancel_new(void);

// Ends all compilations that have this token, and those that will get it.
//
// # Safety
// `cancel` is null or live.
void gcnc_cancel_pull(const struct gcnc_cancel *cancel);

// Frees a token; compilations that have it go on.
//
// # Safety
// `cancel` is null or from `gcnc_cancel_new`, and not used any more.
void gcnc_cancel_free(struct gcnc_cancel *cancel);

// Compiles `count` modules to `output`. `cancel` may be null. On success `object` is the result; on failure it becomes null and `error`,
// unless it is null, says why.
//
// # Safety
// `compiler` and `cancel` are null or live; `inputs` is null or points to `count` inputs, each null or with `size` bytes; `object` and
// `error` are null or may be written.
enum gcnc_status gcnc_compile(const struct gcnc_compiler *compiler,
                              const struct gcnc_input *inputs,
                              size_t count,
                              gcnc_output output,
                              const struct gcnc_cancel *cancel,
                              struct gcnc_object **object,
                              struct gcnc_error **error);

// Frees an object.
//
// # Safety
// `object` is null or from `gcnc_compile`, and neither it nor its strings are used any more.
void gcnc_object_free(struct gcnc_object *object);

// The bytes of the file; null where `object` is null.
//
// # Safety
// As all that asks: `object` is null or live.
const uint8_t *gcnc_object_data(const struct gcnc_object *object);

// Number of bytes of the file.
//
// # Safety
// As all that asks.
size_t gcnc_object_size(const struct gcnc_object *object);

// Whether the cache had it.
//
// # Safety
// As all that asks.
bool gcnc_object_is_from_cache(const struct gcnc_object *object);

// Number of kernels.
//
// # Safety
// As all that asks.
size_t gcnc_object_kernel_count(const struct gcnc_object *object);

// Fills `kernel` in, whose `struct_size` the caller has set. GCNC_STATUS_ARGUMENT where there is no such kernel.
//
// # Safety
// `object` is null or live, `kernel` null or of its `struct_size`.
enum gcnc_status gcnc_object_kernel(const struct gcnc_object *object,
                                    size_t index,
                                    struct gcnc_kernel *kernel);

// Fills `argument` in, whose `struct_size` the caller has set. GCNC_STATUS_ARGUMENT where there is no such argument.
//
// # Safety
// `object` is null or live, `argument` null or of its `struct_size`.
enum gcnc_status gcnc_object_argument(const struct gcnc_object *object,
                                      size_t kernel,
                                      size_t index,
                                      struct gcnc_argument *argument);

// Number of warnings.
//
// # Safety
// As all that asks.
size_t gcnc_object_warning_count(const struct gcnc_object *object);

// A warning; null where there is no such.
//
// # Safety
// As all that asks.
const char *gcnc_object_warning(const struct gcnc_object *object, size_t index);

// Frees an error.
//
// # Safety
// `error` is null or from this library, and neither it nor its strings are used any more.
void gcnc_error_free(struct gcnc_error *error);

// Everything that went wrong, a line each; an empty string where `error` is null.
//
// # Safety
// As all that asks: `error` is null or live.
const char *gcnc_error_text(const struct gcnc_error *error);

// Number of diagnostics.
//
// # Safety
// As all that asks.
size_t gcnc_error_count(const struct gcnc_error *error);

// Fills `diagnostic` in, whose `struct_size` the caller has set. GCNC_STATUS_ARGUMENT where there is no such diagnostic.
//
// # Safety
// `error` is null or live, `diagnostic` null or of its `struct_size`.
enum gcnc_status gcnc_error_diagnostic(const struct gcnc_error *error,
                                       size_t index,
                                       struct gcnc_diagnostic *diagnostic);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GCNC_H */

// The C interface behind C++ objects that free what they hold, and exceptions.
#include <gcnc.h>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gcnc {

template <auto Free> struct Freed {
    template <typename T> void operator()(T *object) const noexcept { Free(object); }
};
using Options = std::unique_ptr<gcnc_options, Freed<gcnc_options_free>>;
using Object = std::unique_ptr<gcnc_object, Freed<gcnc_object_free>>;
using Failure = std::unique_ptr<gcnc_error, Freed<gcnc_error_free>>;

struct Error : std::runtime_error {
    gcnc_status status;
    Error(gcnc_status status, const gcnc_error *error) : std::runtime_error(gcnc_error_text(error)), status(status) {}
};

class Compiler {
    std::unique_ptr<gcnc_compiler, Freed<gcnc_compiler_free>> handle;

public:
    explicit Compiler(const Options &options)
    {
        gcnc_compiler *made = nullptr;
        gcnc_error *error = nullptr;
        gcnc_status status = gcnc_compiler_new(options.get(), &made, &error);
        handle.reset(made);
        Failure failure(error);
        if (status != GCNC_STATUS_OK)
            throw Error(status, error);
    }

    Object compile(std::string_view module) const
    {
        gcnc_input input{reinterpret_cast<const uint8_t *>(module.data()), module.size()};
        gcnc_object *object = nullptr;
        gcnc_error *error = nullptr;
        gcnc_status status = gcnc_compile(handle.get(), &input, 1, GCNC_OUTPUT_LOADABLE, nullptr, &object, &error);
        Object made(object);
        Failure failure(error);
        if (status != GCNC_STATUS_OK)
            throw Error(status, error);
        return made;
    }
};

} // namespace gcnc

int main()
{
    gcnc::Compiler compiler(gcnc::Options(gcnc_options_new("gfx803")));
    gcnc::Object object = compiler.compile("define amdgpu_kernel void @nothing() { ret void }");
    gcnc_kernel kernel{};
    kernel.struct_size = sizeof kernel;
    gcnc_object_kernel(object.get(), 0, &kernel);
    std::cout << kernel.name << ": " << (gcnc_object_size(object.get()) > 0 ? "some" : "no") << " bytes\n";
    try {
        compiler.compile("no module at all");
    } catch (const gcnc::Error &error) {
        std::cout << "refused: " << error.what() << '\n';
        return error.status == GCNC_STATUS_REFUSED ? 0 : 1;
    }
    return 1;
}

// An OpenCL program in C++: owners of handles as classes, std::vector for arrays, exceptions for errors, two buffers
// that change places, a two-dimensional range. It plays Conway's Game of Life on a torus.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

class Error : public std::runtime_error {
public:
    Error(const std::string &call, cl_int code) : std::runtime_error(call + " answered " + std::to_string(code)) {}
};

static void check(const char *call, cl_int code)
{
    if (code != CL_SUCCESS)
        throw Error(call, code);
}

template <typename Handle, cl_int (*release)(Handle)> class Owned {
public:
    explicit Owned(Handle handle = nullptr) : handle_(handle) {}
    Owned(Owned &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Owned &operator=(Owned &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    ~Owned()
    {
        if (handle_)
            release(handle_);
    }
    const Handle &get() const { return handle_; }

private:
    Handle handle_;
};

using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Program = Owned<cl_program, clReleaseProgram>;
using Kernel = Owned<cl_kernel, clReleaseKernel>;
using Buffer = Owned<cl_mem, clReleaseMemObject>;

class Gpu {
public:
    Gpu()
    {
        cl_uint count = 0;
        check("clGetPlatformIDs", clGetPlatformIDs(0, nullptr, &count));
        std::vector<cl_platform_id> platforms(count);
        check("clGetPlatformIDs", clGetPlatformIDs(count, platforms.data(), nullptr));
        check("clGetDeviceIDs", clGetDeviceIDs(platforms.at(0), CL_DEVICE_TYPE_ALL, 1, &device_, nullptr));
        cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(platforms[0]), 0};
        cl_int code;
        context_ = Context(clCreateContext(properties, 1, &device_, nullptr, nullptr, &code));
        check("clCreateContext", code);
        queue_ = Queue(clCreateCommandQueue(context_.get(), device_, 0, &code));
        check("clCreateCommandQueue", code);
    }

    Program build(const std::string &source, const std::string &options) const
    {
        const char *text = source.data();
        const size_t length = source.size();
        cl_int code;
        Program program(clCreateProgramWithSource(context_.get(), 1, &text, &length, &code));
        check("clCreateProgramWithSource", code);
        if (clBuildProgram(program.get(), 1, &device_, options.c_str(), nullptr, nullptr) != CL_SUCCESS) {
            size_t bytes = 0;
            clGetProgramBuildInfo(program.get(), device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
            std::vector<char> log(bytes);
            clGetProgramBuildInfo(program.get(), device_, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
            throw std::runtime_error(std::string(log.begin(), log.end()));
        }
        return program;
    }

    template <typename T> Buffer buffer(std::vector<T> &data) const
    {
        cl_int code;
        Buffer made(clCreateBuffer(context_.get(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, data.size() * sizeof(T),
                                   data.data(), &code));
        check("clCreateBuffer", code);
        return made;
    }

    template <typename T> void read(const Buffer &from, std::vector<T> &to) const
    {
        check("clEnqueueReadBuffer", clEnqueueReadBuffer(queue_.get(), from.get(), CL_TRUE, 0, to.size() * sizeof(T),
                                                         to.data(), 0, nullptr, nullptr));
    }

    template <typename... Args> void run(const Kernel &kernel, size_t width, size_t height, const Args &...args) const
    {
        cl_uint index = 0;
        (check("clSetKernelArg", clSetKernelArg(kernel.get(), index++, sizeof args, &args)), ...);
        const size_t global[] = {width, height}, local[] = {8, 8};
        check("clEnqueueNDRangeKernel",
              clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 2, nullptr, global, local, 0, nullptr, nullptr));
    }

private:
    cl_device_id device_ = nullptr;
    Context context_;
    Queue queue_;
};

static const char SOURCE[] = R"(
__kernel void generation(__global const uchar *now, __global uchar *next)
{
    const int width = get_global_size(0), height = get_global_size(1);
    const int x = get_global_id(0), y = get_global_id(1);
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0)
                alive += now[(y + dy + height) % height * width + (x + dx + width) % width];
    next[y * width + x] = alive == BORN || (alive == 2 && now[y * width + x]);
}
)";

class World {
public:
    World(size_t width, size_t height) : width_(width), height_(height), cells_(width * height)
    {
        unsigned state = 12345;
        for (auto &cell : cells_) {
            state = state * 1103515245u + 12345u;
            cell = (state >> 16) % 3 == 0;
        }
    }
    std::vector<cl_uchar> &cells() { return cells_; }
    World next() const
    {
        World result(*this);
        for (size_t y = 0; y < height_; y++)
            for (size_t x = 0; x < width_; x++) {
                int alive = 0;
                for (size_t dy = height_ - 1; dy <= height_ + 1; dy++)
                    for (size_t dx = width_ - 1; dx <= width_ + 1; dx++)
                        if (dx != width_ || dy != height_)
                            alive += at(x + dx, y + dy);
                result.cells_[y * width_ + x] = alive == 3 || (alive == 2 && at(x, y));
            }
        return result;
    }
    size_t population() const
    {
        size_t count = 0;
        for (auto cell : cells_)
            count += cell;
        return count;
    }

private:
    int at(size_t x, size_t y) const { return cells_[y % height_ * width_ + x % width_]; }
    size_t width_, height_;
    std::vector<cl_uchar> cells_;
};

int main()
{
    const size_t width = 64, height = 48, steps = 10;
    try {
        Gpu gpu;
        Program program = gpu.build(SOURCE, "-DBORN=3");
        cl_int code;
        Kernel kernel(clCreateKernel(program.get(), "generation", &code));
        check("clCreateKernel", code);
        World world(width, height);
        std::vector<cl_uchar> empty(width * height);
        Buffer now = gpu.buffer(world.cells()), next = gpu.buffer(empty);
        for (size_t i = 0; i < steps; i++) {
            gpu.run(kernel, width, height, now.get(), next.get());
            std::swap(now, next);
            world = world.next();
        }
        std::vector<cl_uchar> result(width * height);
        gpu.read(now, result);
        std::ostringstream line;
        line << "life: " << world.population() << " cells live after " << steps << " steps";
        std::cout << line.str() << std::endl;
        try {
            gpu.build("__kernel void broken(__global int *p) { *p = nonsense; }", "");
        } catch (const std::runtime_error &error) {
            const bool named = std::string(error.what()).find("nonsense") != std::string::npos;
            std::cout << "the build log " << (named ? "names" : "does not name") << " what is wrong\n";
        }
        if (result != world.cells()) {
            std::cout << "life: wrong\n";
            return 1;
        }
    } catch (const std::exception &error) {
        std::cerr << "life: " << error.what() << '\n';
        return 2;
    }
    return 0;
}

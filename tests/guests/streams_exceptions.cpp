// C++ with what its run-time library is needed for: streams, exceptions through several frames with destructors on
// the way, virtual functions and dynamic_cast, containers, threads with a condition variable.
#include <algorithm>
#include <condition_variable>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int alive = 0;

struct Witness {
    Witness() { alive++; }
    ~Witness() { alive--; }
};

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square : Shape {
    explicit Square(double side) : side(side) {}
    double area() const override { return side * side; }
    double side;
};
struct Circle : Shape {
    explicit Circle(double radius) : radius(radius) {}
    double area() const override { return 3.14159265358979 * radius * radius; }
    double radius;
};

static int parse(const std::string &text)
{
    Witness witness;
    std::istringstream in(text);
    int value;
    if (!(in >> value))
        throw std::invalid_argument("'" + text + "' is no number");
    if (value < 0)
        throw value;
    return value;
}

static int deep(int depth, const std::string &text)
{
    Witness witness;
    return depth == 0 ? parse(text) : deep(depth - 1, text) + 1;
}

int main()
{
    for (const std::string text : {"42", "x", "-7"}) {
        try {
            const int value = deep(20, text);
            std::cout << text << ": " << value << '\n';
        } catch (const std::invalid_argument &error) {
            std::cout << text << ": " << error.what() << '\n';
        } catch (int value) {
            std::cout << text << ": negative by " << -value << '\n';
        }
    }
    std::cout << "witnesses left: " << alive << '\n';

    try {
        std::vector<int>().at(3);
    } catch (const std::out_of_range &) {
        std::cout << "out of range\n";
    }

    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Square>(2.0));
    shapes.push_back(std::make_unique<Circle>(1.5));
    for (const auto &shape : shapes)
        std::cout << (dynamic_cast<Circle *>(shape.get()) ? "circle" : "square") << std::fixed << std::setprecision(4)
                  << std::setw(10) << shape->area() << '\n';

    std::map<std::string, int> words;
    std::istringstream text("one fish two fish red fish blue fish");
    for (std::string word; text >> word;)
        words[word]++;
    for (const auto &[word, count] : words)
        std::cout << std::left << std::setw(6) << word << count << '\n';
    std::cout << std::hex << std::showbase << 48879 << std::dec << ' ' << std::scientific << 12345.678 << '\n';

    std::mutex mutex;
    std::condition_variable changed;
    int turn = 0;
    std::string order;
    auto player = [&](int me) {
        for (int round = 0; round < 5; round++) {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [&] { return turn % 2 == me; });
            order += static_cast<char>('a' + me);
            turn++;
            changed.notify_all();
        }
    };
    std::thread first(player, 0), second(player, 1);
    first.join();
    second.join();
    std::cout << order << '\n';
    return order == "ababababab" && alive == 0 ? 0 : 1;
}

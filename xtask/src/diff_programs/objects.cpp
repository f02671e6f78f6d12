// C++: containers, streams, exceptions through several frames, virtual calls, regular expressions.
#include <algorithm>
#include <complex>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

struct Square : Shape {
    double side;
    explicit Square(double s) : side(s) { }
    double area() const override { return side * side; }
};

struct Circle : Shape {
    double radius;
    explicit Circle(double r) : radius(r) { }
    double area() const override { return 3.141592653589793 * radius * radius; }
};

struct Noisy {
    int number;
    explicit Noisy(int n) : number(n) { }
    ~Noisy() { std::cout << "gone " << number << '\n'; }
};

static int fail(int depth)
{
    Noisy noisy(depth);
    if (depth == 0)
        throw std::out_of_range("the bottom");
    return fail(depth - 1) + 1;
}

int main()
{
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 1; i < 10; i++) {
        if (i % 2)
            shapes.push_back(std::make_unique<Square>(i * 1.5));
        else
            shapes.push_back(std::make_unique<Circle>(i));
    }
    double total = std::accumulate(shapes.begin(), shapes.end(), 0.0, [](double sum, auto &s) { return sum + s->area(); });
    std::cout << std::setprecision(15) << total << ' ' << std::hex << 48879 << std::dec << '\n';

    try {
        fail(3);
    } catch (const std::exception &error) {
        std::cout << "caught " << error.what() << '\n';
    }
    try {
        try {
            std::vector<int>().at(3);
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    } catch (const std::runtime_error &error) {
        std::cout << error.what() << '\n';
    }

    std::map<std::string, int> words;
    std::unordered_map<int, std::string> names;
    std::istringstream text("the cache holds the line and the line holds the data");
    for (std::string word; text >> word;)
        words[word]++;
    for (auto &[word, count] : words)
        std::cout << word << '=' << count << ' ';
    for (int i = 0; i < 1000; i++)
        names[i * 7919 % 1009] = std::to_string(i);
    std::cout << names.size() << ' ' << names[500] << '\n';

    std::regex pattern("([a-z]+)([0-9]+)");
    std::smatch match;
    std::string subject = "see r15 and xmm0";
    while (std::regex_search(subject, match, pattern)) {
        std::cout << match[1] << ':' << match[2] << ' ';
        subject = match.suffix();
    }
    std::complex<double> z = std::pow(std::complex<double>(1.5, -0.5), 3.25);
    std::variant<int, std::string> either = "text";
    std::function<long(long)> fibonacci = [&](long n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); };
    std::cout << z << ' ' << std::get<std::string>(either) << ' ' << fibonacci(15) << '\n';

    std::vector<double> values(5000);
    std::iota(values.begin(), values.end(), 0.5);
    std::transform(values.begin(), values.end(), values.begin(), [](double x) { return 1 / x; });
    std::stable_sort(values.begin(), values.end());
    std::cout << std::accumulate(values.begin(), values.end(), 0.0) << ' ' << std::showpos << std::scientific << values[9]
              << std::endl;
    return static_cast<int>(total) % 100;
}

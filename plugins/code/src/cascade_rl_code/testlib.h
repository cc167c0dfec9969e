// A small header with the names that testlib's checkers and interactors use, so that they
// compile where the original is not at hand. Written for this package from testlib's documented
// behaviour; not the original: no validators, no generators, no patterns for readToken.
// Exit codes: 0 ok, 1 wrong answer, 2 presentation error, 3 jury's fault, 7 points, 16 + n for
// n percent (the original's number for this last one depends on how it is compiled; the message,
// "partially correct (n)", is the same).
#ifndef CASCADE_RL_TESTLIB_H
#define CASCADE_RL_TESTLIB_H

#include <algorithm>
#include <cctype>
#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

enum TResult {
    _ok = 0, _wa = 1, _pe = 2, _fail = 3, _dirt = 4, _points = 5, _unexpected_eof = 8,
    _partially = 16
};
#define _pc(n) (TResult(_partially + (n)))

const int EOFC = -1;
inline bool isEof(int c) { return c == EOFC; }
inline bool isEoln(int c) { return c == '\n' || c == '\r'; }
inline bool isBlanks(int c) { return c == ' ' || c == '\t' || isEoln(c); }

inline std::string formatted(const char *text, va_list arguments) {
    char buffer[65536];
    vsnprintf(buffer, sizeof buffer, text, arguments);
    return buffer;
}
#define CASCADE_FORMAT(text, result)                                                              \
    va_list arguments_;                                                                           \
    va_start(arguments_, text);                                                                   \
    std::string result = formatted(text, arguments_);                                             \
    va_end(arguments_)

inline std::string format(const char *text, ...) { CASCADE_FORMAT(text, r); return r; }
inline std::string compress(const std::string &s) {
    return s.size() <= 64 ? s : s.substr(0, 30) + "..." + s.substr(s.size() - 31);
}
inline std::string upperCase(std::string s) {
    for (char &c : s) if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
    return s;
}
inline std::string lowerCase(std::string s) {
    for (char &c : s) if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
    return s;
}
inline std::string trim(const std::string &s) {
    size_t from = 0, to = s.size();
    while (from < to && isBlanks(s[from])) from++;
    while (to > from && isBlanks(s[to - 1])) to--;
    return s.substr(from, to - from);
}
inline std::vector<std::string> tokenize(const std::string &s, char separator = ' ') {
    std::vector<std::string> parts;
    std::string part;
    std::stringstream stream(s);
    while (std::getline(stream, part, separator)) if (!part.empty()) parts.push_back(part);
    return parts;
}
inline std::vector<std::string> split(const std::string &s, char separator) {
    std::vector<std::string> parts(1);
    for (char c : s) if (c == separator) parts.emplace_back(); else parts.back() += c;
    return parts;
}
template <typename T> std::string toString(const T &value) {
    std::stringstream stream;
    stream << value;
    return stream.str();
}
template <typename T> std::string vtos(const T &value) { return toString(value); }
template <typename I> std::string join(I from, I to, const std::string &between = " ") {
    std::string joined;
    for (I at = from; at != to; ++at) joined += (at == from ? "" : between) + toString(*at);
    return joined;
}
template <typename C> std::string join(const C &items, const std::string &between = " ") {
    return join(items.begin(), items.end(), between);
}
inline std::string englishEnding(int n) {
    n %= 100;
    if (n / 10 == 1) return "th";
    return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}
inline bool isNaN(double x) { return std::isnan(x); }
inline bool isInfinite(double x) { return std::isinf(x); }
inline bool doubleCompare(double expected, double result, double error) {
    if (std::isnan(expected)) return std::isnan(result);
    if (std::isinf(expected)) return result == expected;
    if (!std::isfinite(result)) return false;
    if (std::fabs(result - expected) <= error + 1e-15) return true;
    double a = expected * (1.0 - error), b = expected * (1.0 + error);
    return result >= std::min(a, b) - 1e-15 && result <= std::max(a, b) + 1e-15;
}
inline double doubleDelta(double expected, double result) {
    double absolute = std::fabs(result - expected);
    return std::fabs(expected) > 1e-9 ? std::min(absolute, absolute / std::fabs(expected)) : absolute;
}

struct InStream;
extern InStream inf, ouf, ans;
inline std::ofstream tout;
inline bool isInteraction_ = false;
inline int testCase_ = 0;
inline double points_ = 0;
inline void setName(const char *, ...) {}
inline void setTestCase(int number) { testCase_ = number; }
inline void unsetTestCase() { testCase_ = 0; }
[[noreturn]] void quit(TResult result, const std::string &message);
[[noreturn]] inline void quit(TResult result, const char *message) { quit(result, std::string(message)); }

enum TMode { _input, _output, _answer };

struct InStream {
    TMode mode;
    FILE *file = nullptr;
    int at = -2;  // the next character, if it was looked at
    InStream(TMode m) : mode(m) {}

    void open(const char *path) {
        file = fopen(path, "rb");
        if (!file) { fprintf(stderr, "FAIL cannot open %s\n", path); exit(3); }
    }
    int curChar() { if (at == -2) at = file ? getc(file) : EOF; return at; }
    int nextChar() { int c = curChar(); at = -2; return c; }
    int readChar() { int c = nextChar(); if (isEof(c)) quit(_unexpected_eof, "Unexpected end of file"); return c; }
    int readChar(int wanted) {
        int c = readChar();
        if (c != wanted) quit(_pe, std::string("Unexpected character ") + char(c));
        return c;
    }
    char readSpace() { return char(readChar(' ')); }
    void skipChar() { nextChar(); }
    bool eof() { return isEof(curChar()); }
    bool eoln() { return eof() || isEoln(curChar()); }
    void skipBlanks() { while (!eof() && isBlanks(curChar())) nextChar(); }
    bool seekEof() { skipBlanks(); return eof(); }
    bool seekEoln() { while (curChar() == ' ' || curChar() == '\t') nextChar(); return eoln(); }
    void readEoln() { if (!eoln()) quit(_pe, "Expected EOLN"); nextLine(); }
    void readEof() { if (!eof()) quit(_pe, "Expected EOF"); }
    void nextLine() { int c = nextChar(); if (c == '\r' && curChar() == '\n') nextChar(); }

    std::string readWord() {
        if (seekEof()) quit(_unexpected_eof, "Unexpected end of file - token expected");
        std::string word;
        while (!eof() && !isBlanks(curChar())) word += char(nextChar());
        return word;
    }
    std::string readToken() { return readWord(); }
    void readWordTo(std::string &word) { word = readWord(); }
    void readTokenTo(std::string &word) { word = readWord(); }
    std::string readLine() {
        if (eof()) quit(_pe, "Expected line");
        std::string line;
        while (!eoln()) line += char(nextChar());
        if (!eof()) nextLine();
        return line;
    }
    std::string readString() { return readLine(); }
    void readLineTo(std::string &line) { line = readLine(); }
    void readStringTo(std::string &line) { line = readLine(); }

    long long toLong(const std::string &word) {
        size_t digits = word.size() > 1 && word[0] == '-' ? 1 : 0;
        bool good = word.size() <= 20 && word.size() > digits;
        for (size_t i = digits; i < word.size(); i++) good = good && isdigit((unsigned char)word[i]);
        if (good && word[digits] == '0') good = word.size() == 1;
        errno = 0;
        long long value = good ? strtoll(word.c_str(), nullptr, 10) : 0;
        if (!good || errno) quit(_pe, "Expected integer, but \"" + compress(word) + "\" found");
        return value;
    }
    double toDouble(const std::string &word) {
        bool good = word.find_first_not_of("0123456789.eE+-") == std::string::npos;
        char *end = nullptr;
        double value = good ? strtod(word.c_str(), &end) : 0;
        if (!good || *end || std::isnan(value)) quit(_pe, "Expected double, but \"" + compress(word) + "\" found");
        return value;
    }
    template <typename T> T within(T value, T low, T high, const std::string &name) {
        if (value < low || value > high) {
            std::string what = name.empty() ? "Value " : "Value of " + name + " ";
            quit(_wa, what + toString(value) + " violates the range [" + toString(low) + ", " + toString(high) + "]");
        }
        return value;
    }
    long long readLong() { return toLong(readWord()); }
    long long readLong(long long low, long long high, const std::string &name = "") { return within(readLong(), low, high, name); }
    int readInt() {
        long long value = readLong();
        if (value < INT_MIN || value > INT_MAX) quit(_pe, "Expected int32, but \"" + toString(value) + "\" found");
        return int(value);
    }
    int readInt(int low, int high, const std::string &name = "") { return within(readInt(), low, high, name); }
    int readInteger() { return readInt(); }
    int readInteger(int low, int high, const std::string &name = "") { return readInt(low, high, name); }
    unsigned long long readUnsignedLong() {
        std::string word = readWord();
        bool good = !word.empty() && word.size() <= 20 && word.find_first_not_of("0123456789") == std::string::npos;
        errno = 0;
        unsigned long long value = good ? strtoull(word.c_str(), nullptr, 10) : 0;
        if (!good || errno || (word[0] == '0' && word.size() > 1)) quit(_pe, "Expected unsigned integer, but \"" + compress(word) + "\" found");
        return value;
    }
    unsigned long long readUnsignedLong(unsigned long long low, unsigned long long high, const std::string &name = "") { return within(readUnsignedLong(), low, high, name); }
    double readDouble() { return toDouble(readWord()); }
    double readDouble(double low, double high, const std::string &name = "") { return within(readDouble(), low, high, name); }
    double readReal() { return readDouble(); }
    double readReal(double low, double high, const std::string &name = "") { return readDouble(low, high, name); }
    double readStrictDouble(double low, double high, int, int, const std::string &name = "") { return readDouble(low, high, name); }
    std::vector<int> readInts(int n, int low = INT_MIN, int high = INT_MAX, const std::string &name = "", int = 1) {
        std::vector<int> values;
        for (int i = 0; i < n; i++) values.push_back(readInt(low, high, name));
        return values;
    }
    std::vector<int> readIntegers(int n, int low = INT_MIN, int high = INT_MAX, const std::string &name = "", int = 1) { return readInts(n, low, high, name); }
    std::vector<long long> readLongs(int n, long long low = LLONG_MIN, long long high = LLONG_MAX, const std::string &name = "", int = 1) {
        std::vector<long long> values;
        for (int i = 0; i < n; i++) values.push_back(readLong(low, high, name));
        return values;
    }
    std::vector<std::string> readWords(int n) {
        std::vector<std::string> words;
        for (int i = 0; i < n; i++) words.push_back(readWord());
        return words;
    }
    std::vector<std::string> readTokens(int n) { return readWords(n); }
    std::vector<std::string> readLines(int n) {
        std::vector<std::string> lines;
        for (int i = 0; i < n; i++) lines.push_back(readLine());
        return lines;
    }

    // What cannot be read in the jury's own files is the jury's fault.
    [[noreturn]] void quit(TResult result, const std::string &message) {
        ::quit(mode == _output ? result : _fail, message);
    }
    [[noreturn]] void quitf(TResult result, const char *text, ...) { CASCADE_FORMAT(text, r); quit(result, r); }
    void quitif(bool condition, TResult result, const char *text, ...) {
        if (condition) { CASCADE_FORMAT(text, r); quit(result, r); }
    }
    void ensure_(bool condition, const char *text) { if (!condition) quit(_wa, std::string("Condition failed: \"") + text + "\""); }
    void ensuref(bool condition, const char *text, ...) {
        if (!condition) { CASCADE_FORMAT(text, r); quit(_wa, r); }
    }
};
inline InStream inf(_input), ouf(_output), ans(_answer);

[[noreturn]] inline void leave(int code, const char *verdict, const std::string &message) {
    if (tout.is_open()) tout.close();
    fflush(stdout);
    fprintf(stderr, "%s %s", verdict, message.c_str());
    if (testCase_) fprintf(stderr, " (test case %d)", testCase_);
    fprintf(stderr, "\n");
    fflush(stderr);
    _Exit(code);
}
[[noreturn]] inline void quit(TResult result, const std::string &message) {
    // An accepted output must hold nothing more than was read.
    if (result == _ok && !isInteraction_ && !ouf.seekEof()) quit(_pe, "Extra information in the output file");
    if (result >= _partially) {
        int points = int(result) - int(_partially);
        leave(result, ("partially correct (" + toString(points) + ")").c_str(), message);
    }
    switch (result) {
        case _ok: leave(0, "ok", message);
        case _wa: leave(1, "wrong answer", message);
        case _fail: leave(3, "FAIL", message);
        case _points: leave(7, ("points " + toString(points_)).c_str(), message);
        default: leave(2, "wrong output format", message);
    }
}
[[noreturn]] inline void quitf(TResult result, const char *text, ...) { CASCADE_FORMAT(text, r); quit(result, r); }
inline void quitif(bool condition, TResult result, const char *text, ...) {
    if (condition) { CASCADE_FORMAT(text, r); quit(result, r); }
}
[[noreturn]] inline void quitp(double points, const std::string &message = "") { points_ = points; quit(_points, message); }
template <typename... A> [[noreturn]] void quitp(double points, const char *text, A... values) {
    char buffer[65536];
    snprintf(buffer, sizeof buffer, text, values...);
    points_ = points;
    quit(_points, std::string(buffer));
}
inline void ensure_(bool condition, const char *text) { if (!condition) quit(_fail, std::string("Condition failed: \"") + text + "\""); }
#define ensure(condition) ensure_((condition), #condition)
inline void ensuref(bool condition, const char *text, ...) {
    if (!condition) { CASCADE_FORMAT(text, r); quit(_fail, r); }
}
template <typename T> [[noreturn]] void expectedButFound(TResult result, const T &expected, const T &found, const char *before = "") {
    quit(result, std::string(before) + " expected '" + toString(expected) + "', found '" + toString(found) + "'");
}

struct random_t {
    std::mt19937_64 engine{20081024};
    int next(int n) { return int(engine() % (unsigned long long)n); }
    long long next(long long n) { return (long long)(engine() % (unsigned long long)n); }
    int next(int low, int high) { return low + int(engine() % (unsigned long long)((long long)high - low + 1)); }
    long long next(long long low, long long high) { return low + (long long)(engine() % (unsigned long long)(high - low + 1)); }
    double next() { return double(engine() >> 11) / double(1ULL << 53); }
};
inline random_t rnd;
template <typename I> void shuffle(I from, I to) { std::shuffle(from, to, rnd.engine); }

inline void registerTestlibCmd(int argc, char *argv[]) {
    if (argc < 4) { fprintf(stderr, "FAIL arguments: INPUT OUTPUT ANSWER\n"); exit(3); }
    inf.open(argv[1]);
    ouf.open(argv[2]);
    ans.open(argv[3]);
}
inline void registerChecker(const std::string &, int argc, char *argv[]) { registerTestlibCmd(argc, argv); }
inline void registerInteraction(int argc, char *argv[]) {
    if (argc < 3) { fprintf(stderr, "FAIL arguments: INPUT OUTPUT [ANSWER]\n"); exit(3); }
    isInteraction_ = true;
    inf.open(argv[1]);
    tout.open(argv[2]);
    if (argc > 3) ans.open(argv[3]);
    ouf.file = stdin;
}

#endif

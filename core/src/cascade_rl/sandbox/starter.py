"""The small program that starts compiled answers: it sets limits on itself, then becomes them.

A guest spawns it without forking, which for a Python process is most of what a short run costs.
It is compiled once by a sandbox, before anything else, where there is a C compiler; where there
is none, or on an architecture that it does not know, the guest forks and does the same itself.

It does without a C library, whose start alone (it asks the processor what it can do) takes
three times as long in a virtual machine as all of this.
"""

from __future__ import annotations

from dataclasses import replace

from cascade_rl.sandbox.languages import LANGUAGES
from cascade_rl.sandbox.types import Program

#: Arguments: {resource soft hard}, "--", the descriptor to close or -1, the program, its own.
SOURCE = r"""
#if defined(__x86_64__)
enum { FCNTL = 72, EXECVE = 59, EXIT = 231, SETRLIMIT = 160, WRITE = 1 };
__asm__(".globl _start\n_start: mov %rsp, %rdi\nand $-16, %rsp\ncall begin\n");
static long call(long number, long one, long two, long three) {
    long result;
    __asm__ volatile("syscall" : "=a"(result)
                     : "a"(number), "D"(one), "S"(two), "d"(three) : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
enum { FCNTL = 25, EXECVE = 221, EXIT = 94, SETRLIMIT = 164, WRITE = 64 };
__asm__(".globl _start\n_start: mov x0, sp\nbl begin\n");
static long call(long number, long one, long two, long three) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = one;
    register long x1 __asm__("x1") = two, x2 __asm__("x2") = three;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#else
#error "an architecture whose system calls are not known here"
#endif
static void end(int code) { for (;;) call(EXIT, code, 0, 0); }
static unsigned long number(const char *word) {
    unsigned long value = 0;
    for (; *word; word++) value = value * 10 + (unsigned long)(*word - '0');
    return value;
}
static void say(const char *word) {
    long size = 0;
    while (word[size]) size++;
    call(WRITE, 2, (long)word, size);
}
void begin(long *stack) {
    long count = stack[0], at = 1;
    char **words = (char **)(stack + 1), **environment = words + count + 1;
    for (; at + 3 < count && words[at][0] != '-'; at += 3) {
        unsigned long limits[2] = {number(words[at + 1]), number(words[at + 2])};
        if (call(SETRLIMIT, (long)number(words[at]), (long)limits, 0)) end(98);
    }
    if (at + 2 >= count) end(98);
    if (words[at + 1][0] != '-') call(FCNTL, (long)number(words[at + 1]), 2, 1);
    call(EXECVE, (long)words[at + 2], (long)(words + at + 2), (long)environment);
    say("cannot execute "), say(words[at + 2]), say("\n");
    end(127);
}
"""
STARTER = Program(SOURCE, "c")
_FLAGS = ("-O2", "-static", "-nostdlib", "-nostartfiles", "-fno-stack-protector", "-fno-builtin")
LANGUAGE = replace(
    LANGUAGES["c"], steps=(("{gcc}", *_FLAGS, "-fcf-protection=none", "-o", "answer", "{source}"),)
)

/* libFuzzer's driver, for a program with a main of its own: https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library */
#ifndef APSULE_FUZZER_H
#define APSULE_FUZZER_H
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*input)(const uint8_t *data, size_t size));
#endif

#define _GNU_SOURCE
#include "everything.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long blobs_made, blobs_released;

/* Finds `"key":` and what follows it; the arguments are JSON that the host has checked. */
static const char *member(const apsule_message *arguments, const char *key, const char **end) {
    char quoted[64];
    int length = snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *start = memmem(arguments->json.data, arguments->json.size, quoted, (size_t)length);
    *end = (const char *)arguments->json.data + arguments->json.size;
    if (start == NULL) return NULL;
    for (start += length; start < *end && (*start == ' ' || *start == ':'); start++) continue;
    return start;
}

long number(const apsule_message *arguments, const char *key, long otherwise) {
    const char *end, *start = member(arguments, key, &end);
    char digits[24];
    size_t count = 0;
    if (start == NULL) return otherwise;
    while (start < end && count < sizeof digits - 1 && (*start == '-' || (*start >= '0' && *start <= '9')))
        digits[count++] = *start++;
    digits[count] = 0;
    return count > 0 ? atol(digits) : otherwise;
}

bool text(const apsule_message *arguments, const char *key, char *buffer, size_t size) {
    const char *end, *start = member(arguments, key, &end);
    size_t count = 0;
    if (start == NULL || start >= end || *start != '"') return false;
    for (start++; start < end && *start != '"' && count < size - 1; start++) buffer[count++] = *start;
    buffer[count] = 0;
    return true;
}

apsule_slice slice(const char *text) { return (apsule_slice){(const uint8_t *)text, strlen(text)}; }

apsule_message say(char *buffer, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
    return (apsule_message){.size = sizeof(apsule_message), .json = slice(buffer)};
}

static void release(void *owner) {
    __atomic_add_fetch(&blobs_released, 1, __ATOMIC_SEQ_CST);
    free(owner);
}

apsule_blob owned_blob(size_t size) {
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL) abort();
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(i * 7);
    __atomic_add_fetch(&blobs_made, 1, __ATOMIC_SEQ_CST);
    return (apsule_blob){.data = bytes, .size = size, .release = release, .owner = bytes};
}

#define _GNU_SOURCE
#include "everything.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST (call->instance->host)
#define REPLY(...)                                                                                                     \
    do {                                                                                                               \
        char buffer_[512];                                                                                             \
        apsule_message message_ = say(buffer_, sizeof buffer_, __VA_ARGS__);                                           \
        HOST->reply(HOST->context, call->id, &message_);                                                               \
    } while (0)

/* The arguments and their blobs, lent on. */
void op_echo(struct call *call, const apsule_message *arguments) {
    apsule_blob blobs[16];
    apsule_message message = {.size = sizeof message, .json = arguments->json, .blobs = blobs};
    for (; message.blob_count < arguments->blob_count && message.blob_count < 16; message.blob_count++) {
        blobs[message.blob_count] = arguments->blobs[message.blob_count];
        blobs[message.blob_count].release = NULL;
    }
    HOST->reply(HOST->context, call->id, &message);
    finish(call);
}

void op_owned(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    char buffer[64];
    apsule_blob blob = owned_blob((size_t)call->size);
    apsule_message message = say(buffer, sizeof buffer, "{\"bytes\": {\"$blob\": 0}}");
    message.blob_count = 1;
    message.blobs = &blob;
    HOST->reply(HOST->context, call->id, &message);
    finish(call);
}

void op_counters(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    pthread_mutex_lock(&call->instance->lock);
    long cancels = call->instance->cancels, resumes = call->instance->resumes, running = -1;
    for (struct call *other = call->instance->calls; other != NULL; other = other->next) running++;
    pthread_mutex_unlock(&call->instance->lock);
    REPLY("{\"made\": %ld, \"released\": %ld, \"cancels\": %ld, \"resumes\": %ld, \"running\": %ld}",
          __atomic_load_n(&blobs_made, __ATOMIC_SEQ_CST), __atomic_load_n(&blobs_released, __ATOMIC_SEQ_CST), cancels,
          resumes, running);
    finish(call);
}

void op_fail(struct call *call, const apsule_message *arguments) {
    char code[64];
    if (!text(arguments, "code", code, sizeof code)) {
        /* What is no JSON is an error all the same. */
        HOST->fail(HOST->context, call->id, slice("no JSON"));
    } else {
        char buffer[256];
        apsule_message error = say(
            buffer, sizeof buffer, "{\"code\": \"%s\", \"message\": \"Asked to fail.\", \"details\": {\"n\": %ld}}", code,
            call->n);
        HOST->fail(HOST->context, call->id, error.json);
    }
    finish(call);
}

void op_nothing(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    HOST->reply(HOST->context, call->id, NULL);
    finish(call);
}

/* Answers three times; the blob of the second answer must be released all the same. */
void op_twice(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    char buffer[64];
    REPLY("{\"answer\": 1}");
    apsule_blob blob = owned_blob(10);
    apsule_message second = say(buffer, sizeof buffer, "{\"answer\": 2}");
    second.blob_count = 1;
    second.blobs = &blob;
    HOST->reply(HOST->context, call->id, &second);
    HOST->fail(HOST->context, call->id, slice("{\"code\": \"everything.failed\", \"message\": \"Too late.\"}"));
    finish(call);
}

/* Does not care for cancel, only for close. */
static void answer_late(struct call *call) {
    for (long waited = 0; waited < call->ms && !is_closing(call); waited += 5) usleep(5000);
    if (!is_closing(call)) REPLY("{\"late\": true}");
}

void op_late(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    go_on(call, answer_late);
}

/* Whoever finds both that the call waits and that it was cancelled ends it. */
void end_in_cancel(struct call *call) {
    HOST->fail(HOST->context, call->id, slice("{\"code\": \"host.cancelled\", \"message\": \"Cancelled.\"}"));
    finish(call);
}

void op_wait(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    pthread_mutex_lock(&call->instance->lock);
    bool cancelled = call->cancelled;
    call->ends_in_cancel = !cancelled;
    pthread_mutex_unlock(&call->instance->lock);
    if (cancelled) end_in_cancel(call);
}

/* Stays inside invoke; a cancel that comes meanwhile ends it. */
void op_block(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    bool cancelled = pause_for(call, call->ms);
    REPLY("{\"cancelled\": %s}", cancelled ? "true" : "false");
    finish(call);
}

static void read_or_write(struct call *call, int file, const char *words) {
    char contents[256] = "";
    if (file < 0) {
        REPLY("{\"errno\": %d}", -file);
        return;
    }
    ssize_t count = words != NULL ? write(file, words, strlen(words)) : read(file, contents, sizeof contents - 1);
    contents[count > 0 && words == NULL ? count : 0] = 0;
    close(file);
    REPLY("{\"text\": \"%s\", \"count\": %ld}", contents, (long)count);
}

void op_open(struct call *call, const apsule_message *arguments) {
    char path[256] = "", words[128];
    text(arguments, "path", path, sizeof path);
    bool writes = text(arguments, "text", words, sizeof words);
    int flags = writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
    read_or_write(call, HOST->open_path(HOST->context, call->id, slice(path), flags, 0600), writes ? words : NULL);
    finish(call);
}

void op_data(struct call *call, const apsule_message *arguments) {
    char name[128] = "", words[128];
    text(arguments, "name", name, sizeof name);
    bool writes = text(arguments, "text", words, sizeof words);
    int folder = HOST->data_directory(HOST->context);
    int file = folder;
    if (folder >= 0) {
        file = openat(folder, name, writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0600);
        if (file < 0) file = -errno;
    }
    read_or_write(call, file, writes ? words : NULL);
    finish(call);
}

void op_allows(struct call *call, const apsule_message *arguments) {
    char scope[64] = "", word[64] = "";
    text(arguments, "scope", scope, sizeof scope);
    text(arguments, "word", word, sizeof word);
    int32_t allowed = HOST->allows(HOST->context, call->id, slice(scope), slice(word));
    REPLY("{\"allowed\": %s}", allowed == 1 ? "true" : "false");
    finish(call);
}

void op_log(struct call *call, const apsule_message *arguments) {
    char words[128] = "";
    text(arguments, "text", words, sizeof words);
    HOST->log(HOST->context, (int32_t)number(arguments, "level", 1), slice(words));
    REPLY("null");
    finish(call);
}

void op_crash(struct call *call, const apsule_message *arguments) {
    char how[32] = "";
    text(arguments, "how", how, sizeof how);
    if (strcmp(how, "segv") == 0) *(volatile int *)8 = 1;
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "exit") == 0) _exit(3);
    if (strcmp(how, "stop") == 0) raise(SIGSTOP);
    while (strcmp(how, "hang") == 0) pause();
    REPLY("{\"survived\": true}");
    finish(call);
}

/* A message that says less, or more, than there is. */
void op_malformed(struct call *call, const apsule_message *arguments) {
    char how[16] = "", buffer[64];
    text(arguments, "how", how, sizeof how);
    apsule_message message = say(buffer, sizeof buffer, "{\"whole\": true}");
    if (strcmp(how, "size") == 0) message.size = (uint32_t)offsetof(apsule_message, blobs);
    if (strcmp(how, "none") == 0) message.size = 0;
    if (strcmp(how, "blobs") == 0) message.blob_count = 3;
    if (strcmp(how, "json") == 0) message.json.data = NULL;
    HOST->reply(HOST->context, call->id, &message);
    finish(call);
}

/* Speaks for calls that are not its own, or not at all. */
void op_forge(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    char buffer[64];
    apsule_message lie = say(buffer, sizeof buffer, "{\"forged\": true}");
    apsule_slice error = slice("{\"code\": \"everything.failed\", \"message\": \"Forged.\"}");
    apsule_call others[] = {0, call->id + 1, call->id - 1, UINT64_MAX};
    int32_t flow = -1, file = 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        HOST->reply(HOST->context, others[i], &lie);
        if (others[i] != 0) HOST->fail(HOST->context, others[i], error);
        HOST->end(HOST->context, others[i], &lie);
        flow = HOST->event(HOST->context, others[i], slice("item"), &lie);
        file = HOST->open_path(HOST->context, others[i], slice("secret"), O_RDONLY, 0);
    }
    REPLY("{\"flow\": %d, \"file\": %d, \"allowed\": %d}", flow, file,
          HOST->allows(HOST->context, UINT64_MAX, slice("words"), slice("open")));
    finish(call);
}

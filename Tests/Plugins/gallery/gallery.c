/* A family whose stream carries things with an id, and whose probe does what GALLERY_PROBE says. */
#define _GNU_SOURCE
#include <apsule_plugin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

APSULE_DESCRIPTOR("gallery.json");

static const char *const names[] = {"list", "slow", "nonsense", "nonsenses"};
static const apsule_host *host;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static int running;
static apsule_call cancelled[64];

static apsule_slice slice(const char *text) { return (apsule_slice){(const uint8_t *)text, strlen(text)}; }

static apsule_message message(const char *text) {
    return (apsule_message){.size = sizeof(apsule_message), .json = slice(text)};
}

static long number(const apsule_message *arguments, const char *key, long otherwise) {
    char text[256] = "";
    size_t size = arguments->json.size < sizeof text - 1 ? arguments->json.size : sizeof text - 1;
    memcpy(text, arguments->json.data, size);
    const char *place = strstr(text, key);
    return place == NULL ? otherwise : atol(place + strlen(key) + 1);
}

struct call {
    apsule_call id;
    uint32_t operation;
    long n, ms;
};

/* Waits, in small pieces; true once the call was cancelled. */
static int pause_for(const struct call *call, long ms) {
    for (;;) {
        int over = 0;
        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < sizeof cancelled / sizeof *cancelled; i++) over |= cancelled[i] == call->id + 1; /* ids begin at 0 */
        pthread_mutex_unlock(&lock);
        if (over || ms <= 0) return over;
        usleep(5000);
        ms -= 5;
    }
}

static void list(const struct call *call) {
    char text[512];
    apsule_message empty = message("{}");
    host->reply(host->context, call->id, &empty);
    for (long i = 0; i < call->n && !pause_for(call, call->ms); i++) {
        /* The first one tries to take the terminal over. */
        snprintf(
            text, sizeof text,
            "{\"id\": \"thing-%ld\", \"label\": \"%s%ld\", \"strength\": %ld, \"tags\": [\"t%ld\", \"all\"], "
            "\"makers\": [{\"title\": \"Maker \xe6\x97\xa5\xe6\x9c\xac\"}]}",
            i % 100, i == 0 ? "evil\\u001b[2J\\u202e" : "Thing ", i % 100, -90 + i % 50, i % 100);
        apsule_message event = message(text);
        if (host->event(host->context, call->id, slice("thing"), &event) == APSULE_STOP) break;
    }
    apsule_message gone = message("{\"id\": \"thing-0\"}"), last = message("[{\"id\": \"thing-0\"}]");
    host->event(host->context, call->id, slice("gone"), &gone);
    pause_for(call, call->ms);
    host->end(host->context, call->id, &last);
}

static void *run(void *pointer) {
    struct call *call = pointer;
    if (call->operation == 0) {
        list(call);
    } else if (call->operation == 2) {
        apsule_message answer = message("{\"an answer\": that is no JSON}");
        host->reply(host->context, call->id, &answer);
    } else if (call->operation == 3) {
        apsule_message empty = message("{}"), event = message("{\"half\":");
        host->reply(host->context, call->id, &empty);
        host->event(host->context, call->id, slice("thing"), &event);
        host->end(host->context, call->id, &empty);
    } else {
        pause_for(call, call->ms);
        apsule_message answer = message("{\"slept\": true}");
        host->reply(host->context, call->id, &answer);
    }
    free(call);
    pthread_mutex_lock(&lock);
    running--;
    pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void probe(void *context, void (*answer)(void *token, apsule_slice status), void *token) {
    (void)context;
    const char *how = getenv("GALLERY_PROBE");
    if (how != NULL && strcmp(how, "hang") == 0) return;
    if (how != NULL && strcmp(how, "off") == 0)
        return answer(token, slice("{\"status\": \"unavailable\", \"reason\": \"It is off.\", \"fix\": \"Switch it on.\"}"));
    answer(token, slice("{\"status\": \"ready\"}"));
}

static void *open_instance(void *context, const apsule_host *table, apsule_slice project) {
    (void)context;
    (void)project;
    host = table;
    return &running;
}

static void invoke(void *instance, uint32_t operation, apsule_call id, const apsule_message *arguments) {
    (void)instance;
    struct call *call = malloc(sizeof *call);
    pthread_t thread;
    if (call == NULL) abort();
    *call = (struct call){id, operation, number(arguments, "\"n\"", 3), number(arguments, "\"ms\"", 20)};
    pthread_mutex_lock(&lock);
    running++;
    pthread_mutex_unlock(&lock);
    if (pthread_create(&thread, NULL, run, call) != 0) abort();
    pthread_detach(thread);
}

static void cancel(void *instance, apsule_call id) {
    (void)instance;
    pthread_mutex_lock(&lock);
    cancelled[id % (sizeof cancelled / sizeof *cancelled)] = id + 1;
    pthread_mutex_unlock(&lock);
}

static void resume(void *instance, apsule_call id) {
    (void)instance;
    (void)id;
}

static void close_instance(void *instance) {
    (void)instance;
    pthread_mutex_lock(&lock);
    while (running > 0) pthread_cond_wait(&idle, &lock);
    pthread_mutex_unlock(&lock);
}

APSULE_ENTRY(gallery) {
    static const apsule_plugin table = {
        .size = sizeof table, .abi = APSULE_ABI, .operations = names, .operation_count = sizeof names / sizeof *names, .probe = probe,
        .open = open_instance, .invoke = invoke, .cancel = cancel, .resume = resume, .close = close_instance,
    };
    return &table;
}

#define _GNU_SOURCE
#include "everything.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

APSULE_DESCRIPTOR("everything.json");

/* In an order that is not the descriptor's. */
const struct operation operations[] = {
    {"stubborn", op_stubborn}, {"locked", op_locked}, {"over", op_over},       {"failing", op_failing},
    {"ticks", op_ticks},       {"early", op_early},   {"newest", op_flood},    {"flood", op_flood},
    {"count", op_count},       {"forge", op_forge},   {"crash", op_crash},     {"log", op_log},
    {"malformed", op_malformed},
    {"allows", op_allows},     {"data", op_data},     {"files.open", op_open}, {"block", op_block},
    {"wait", op_wait},         {"late", op_late},     {"twice", op_twice},     {"nothing", op_nothing},
    {"fail", op_fail},         {"owned", op_owned},   {"counters", op_counters}, {"echo", op_echo},
    {"quick", op_echo},
};
const uint32_t operation_count = sizeof operations / sizeof operations[0];

static struct call *start(struct instance *instance, apsule_call id) {
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL) abort();
    call->id = id;
    call->instance = instance;
    pthread_mutex_lock(&instance->lock);
    call->next = instance->calls;
    instance->calls = call;
    pthread_mutex_unlock(&instance->lock);
    return call;
}

void finish(struct call *call) {
    struct instance *instance = call->instance;
    pthread_mutex_lock(&instance->lock);
    for (struct call **link = &instance->calls; *link != NULL; link = &(*link)->next) {
        if (*link != call) continue;
        *link = call->next;
        break;
    }
    pthread_mutex_unlock(&instance->lock);
    free(call);
}

static void *run(void *pointer) {
    struct call *call = pointer;
    struct instance *instance = call->instance;
    call->run(call);
    finish(call);
    pthread_mutex_lock(&instance->lock);
    instance->threads--;
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->lock);
    return NULL;
}

void go_on(struct call *call, void (*body)(struct call *)) {
    pthread_t thread;
    call->run = body;
    pthread_mutex_lock(&call->instance->lock);
    call->instance->threads++;
    pthread_mutex_unlock(&call->instance->lock);
    if (pthread_create(&thread, NULL, run, call) != 0) abort();
    pthread_detach(thread);
}

bool pause_for(struct call *call, long ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    struct instance *instance = call->instance;
    pthread_mutex_lock(&instance->lock);
    while (!call->cancelled && !instance->closing)
        if (pthread_cond_timedwait(&instance->changed, &instance->lock, &until) == ETIMEDOUT) break;
    bool stopped = call->cancelled || instance->closing;
    pthread_mutex_unlock(&instance->lock);
    return stopped;
}

bool await_resume(struct call *call) {
    struct instance *instance = call->instance;
    pthread_mutex_lock(&instance->lock);
    while (call->resumes == 0 && !call->cancelled && !instance->closing)
        pthread_cond_wait(&instance->changed, &instance->lock);
    bool resumed = !call->cancelled && !instance->closing;
    if (resumed) call->resumes--;
    pthread_mutex_unlock(&instance->lock);
    return resumed;
}

bool is_closing(struct call *call) {
    pthread_mutex_lock(&call->instance->lock);
    bool closing = call->instance->closing;
    pthread_mutex_unlock(&call->instance->lock);
    return closing;
}

static void probe(void *context, void (*answer)(void *token, apsule_slice status), void *token) {
    (void)context;
    const char *how = getenv("EVERYTHING_PROBE");
    if (how != NULL && strcmp(how, "silent") == 0) return;
    while (how != NULL && strcmp(how, "blocked") == 0) pause();
    answer(token, slice("{\"status\": \"ready\"}"));
}

static void *open_instance(void *context, const apsule_host *host, apsule_slice project) {
    (void)context;
    if (memmem(project.data, project.size, "\"refuse\"", 8) != NULL) {
        host->fail(host->context, 0, slice("{\"code\": \"everything.refused\", \"message\": \"Asked to refuse.\"}"));
        return NULL;
    }
    struct instance *instance = calloc(1, sizeof *instance);
    if (instance == NULL) abort();
    instance->host = host;
    pthread_mutex_init(&instance->lock, NULL);
    pthread_mutex_init(&instance->held, NULL);
    pthread_cond_init(&instance->changed, NULL);
    host->log(host->context, APSULE_DEBUG, slice("everything is open"));
    return instance;
}

static void invoke(void *pointer, uint32_t operation, apsule_call id, const apsule_message *arguments) {
    struct call *call = start(pointer, id);
    call->n = number(arguments, "n", 0);
    call->size = number(arguments, "size", 0);
    call->ms = number(arguments, "ms", 0);
    operations[operation].invoke(call, arguments);
}

/* Marks the call under the lock; the host is called without it. */
static void cancel(void *pointer, apsule_call id) {
    struct instance *instance = pointer;
    struct call *ending = NULL;
    pthread_mutex_lock(&instance->held);
    pthread_mutex_unlock(&instance->held);
    pthread_mutex_lock(&instance->lock);
    for (struct call *call = instance->calls; call != NULL; call = call->next) {
        if (call->id != id || call->cancelled) continue;
        instance->cancels++;
        call->cancelled = true;
        if (call->ends_in_cancel) ending = call;
    }
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->lock);
    if (ending != NULL) end_in_cancel(ending);
}

static void resume(void *pointer, apsule_call id) {
    struct instance *instance = pointer;
    pthread_mutex_lock(&instance->held);
    pthread_mutex_unlock(&instance->held);
    pthread_mutex_lock(&instance->lock);
    for (struct call *call = instance->calls; call != NULL; call = call->next) {
        if (call->id != id) continue;
        instance->resumes++;
        call->resumes++;
    }
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->lock);
}

static void close_instance(void *pointer) {
    struct instance *instance = pointer;
    pthread_mutex_lock(&instance->lock);
    instance->closing = true;
    pthread_cond_broadcast(&instance->changed);
    while (instance->threads > 0) pthread_cond_wait(&instance->changed, &instance->lock);
    struct call *calls = instance->calls;
    instance->calls = NULL;
    pthread_mutex_unlock(&instance->lock);
    while (calls != NULL) {
        struct call *next = calls->next;
        free(calls);
        calls = next;
    }
    pthread_cond_destroy(&instance->changed);
    pthread_mutex_destroy(&instance->held);
    pthread_mutex_destroy(&instance->lock);
    free(instance);
}

APSULE_ENTRY(everything) {
    static const char *names[sizeof operations / sizeof operations[0]];
    static apsule_plugin table;
    for (uint32_t i = 0; i < operation_count; i++) names[i] = operations[i].name;
    table = (apsule_plugin){
        .size = sizeof table,
        .abi = APSULE_ABI,
        .operations = names,
        .operation_count = operation_count,
        .probe = probe,
        .open = open_instance,
        .invoke = invoke,
        .cancel = cancel,
        .resume = resume,
        .close = close_instance,
    };
    const char *abi = getenv("EVERYTHING_ABI");
    if (abi != NULL) table.abi = (uint32_t)atoi(abi);
    return &table;
}

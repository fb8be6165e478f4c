#include "everything.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST (call->instance->host)

static void reply(struct call *call) {
    char buffer[64];
    apsule_message handle = say(buffer, sizeof buffer, "{\"streamId\": \"s%llu\"}", (unsigned long long)call->id);
    HOST->reply(HOST->context, call->id, &handle);
}

static void end(struct call *call, long sent, long holds) {
    char buffer[128];
    apsule_message last = say(
        buffer, sizeof buffer, "{\"sent\": %ld, \"holds\": %ld, \"cancelled\": %s}", sent, holds,
        call->cancelled ? "true" : "false");
    HOST->end(HOST->context, call->id, &last);
}

/* One event; of `size` bytes where the call has a size, as a blob that is owned every other time. */
static int32_t send(struct call *call, long i) {
    char buffer[64];
    apsule_message event = say(buffer, sizeof buffer, "{\"i\": %ld}", i);
    apsule_blob blob;
    if (call->size == 0) return HOST->event(HOST->context, call->id, slice("item"), &event);
    event = say(buffer, sizeof buffer, "{\"i\": %ld, \"bytes\": {\"$blob\": 0}}", i);
    blob = owned_blob((size_t)call->size);
    void (*release)(void *) = blob.release;
    if (i % 2 == 0) blob.release = NULL;
    event.blob_count = 1;
    event.blobs = &blob;
    int32_t flow = HOST->event(HOST->context, call->id, slice("item"), &event);
    if (blob.release == NULL) release(blob.owner);
    return flow;
}

/* Sends n events and waits whenever it is told to. */
static void count(struct call *call) {
    long sent = 0, holds = 0;
    reply(call);
    while (sent < call->n) {
        if (call->locked) pthread_mutex_lock(&call->instance->held);
        int32_t flow = send(call, sent);
        if (call->locked) pthread_mutex_unlock(&call->instance->held);
        sent++;
        if (flow == APSULE_STOP) break;
        if (flow == APSULE_HOLD) {
            holds++;
            if (!await_resume(call)) break;
        }
        if (call->ms > 0 && pause_for(call, call->ms)) break;
    }
    if (!is_closing(call)) end(call, sent, holds);
}

void op_count(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    go_on(call, count);
}

/* Calls the host with a lock held that cancel and resume take: the host must not call back on this stack. */
void op_locked(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    call->locked = true;
    pthread_mutex_lock(&call->instance->held);
    HOST->log(HOST->context, APSULE_INFO, slice("with a lock held"));
    HOST->data_directory(HOST->context);
    HOST->allows(HOST->context, call->id, slice("words"), slice("open"));
    pthread_mutex_unlock(&call->instance->held);
    go_on(call, count);
}

/* Sends n events whatever it is told, unless nobody listens any more. */
static void flood(struct call *call) {
    long sent = 0, holds = 0;
    reply(call);
    while (sent < call->n && !is_closing(call)) {
        int32_t flow = send(call, sent++);
        if (flow == APSULE_STOP) break;
        if (flow == APSULE_HOLD) holds++;
    }
    if (!is_closing(call)) end(call, sent, holds);
}

void op_flood(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    go_on(call, flood);
}

/* Events come first, the reply after them, all inside invoke. */
void op_early(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    long sent = 0, holds = 0;
    while (sent < call->n)
        if (send(call, sent++) == APSULE_HOLD) holds++;
    reply(call);
    while (sent < 2 * call->n)
        if (send(call, sent++) == APSULE_HOLD) holds++;
    end(call, sent, holds);
    finish(call);
}

static void tick(struct call *call) {
    long sent = 0;
    reply(call);
    while (!pause_for(call, call->ms)) send(call, sent++);
    if (!is_closing(call)) end(call, sent, 0);
}

void op_ticks(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    go_on(call, tick);
}

void op_failing(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    reply(call);
    for (long i = 0; i < call->n; i++) send(call, i);
    HOST->fail(HOST->context, call->id, slice("{\"code\": \"everything.failed\", \"message\": \"It broke.\"}"));
    finish(call);
}

/* Goes on after its end: all of that is dropped. */
void op_over(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    reply(call);
    reply(call);
    end(call, 0, 0);
    int32_t flow = send(call, 1);
    end(call, flow, 0);
    reply(call);
    HOST->fail(HOST->context, call->id, slice("{\"code\": \"everything.failed\", \"message\": \"Too late.\"}"));
    finish(call);
}

/* Sends on for a while after cancel, and ends then. */
static void stubborn(struct call *call) {
    long sent = 0;
    reply(call);
    while (!pause_for(call, 5)) send(call, sent++);
    for (long waited = 0; waited < call->ms && !is_closing(call); waited += 5) {
        usleep(5000);
        send(call, sent++);
    }
    if (!is_closing(call)) end(call, sent, 0);
}

void op_stubborn(struct call *call, const apsule_message *arguments) {
    (void)arguments;
    go_on(call, stubborn);
}

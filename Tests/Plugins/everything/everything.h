/* A plugin that uses every function of both ABI tables, the awkward ways included. */
#ifndef EVERYTHING_H
#define EVERYTHING_H

#include <apsule_plugin.h>
#include <pthread.h>
#include <stdbool.h>

/* One project's instance. `lock` guards all of it, and is never held while the host is called. */
struct instance {
    const apsule_host *host;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct call *calls;
    int threads;
    bool closing;
    long cancels, resumes;
    /* Held on purpose while the host is called; cancel and resume take it, too. */
    pthread_mutex_t held;
};

/* One running call, with the arguments that its thread needs after invoke has returned. */
struct call {
    apsule_call id;
    struct instance *instance;
    struct call *next;
    bool cancelled;
    long resumes;
    /* A call without a thread ends in cancel. */
    bool ends_in_cancel;
    bool locked;
    long n, size, ms;
    void (*run)(struct call *);
};

/* An operation runs inside invoke; what goes on afterwards it gives to `go_on`. */
struct operation {
    const char *name;
    void (*invoke)(struct call *, const apsule_message *);
};
extern const struct operation operations[];
extern const uint32_t operation_count;

void finish(struct call *call);
void go_on(struct call *call, void (*run)(struct call *));
/* Waits so many milliseconds: true where the call was cancelled or the instance is closing before they are over. */
bool pause_for(struct call *call, long ms);
/* Waits for one resume: false where the call was cancelled or the instance is closing first. */
bool await_resume(struct call *call);
bool is_closing(struct call *call);
void end_in_cancel(struct call *call);

long number(const apsule_message *arguments, const char *key, long otherwise);
/* The text of a member without escapes, cut to the buffer; false where it is missing. */
bool text(const apsule_message *arguments, const char *key, char *buffer, size_t size);
apsule_slice slice(const char *text);
/* Formats a message without blobs; the buffer must outlive its use. */
apsule_message say(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
apsule_blob owned_blob(size_t size);
extern long blobs_made, blobs_released;

void op_echo(struct call *, const apsule_message *);
void op_owned(struct call *, const apsule_message *);
void op_counters(struct call *, const apsule_message *);
void op_fail(struct call *, const apsule_message *);
void op_nothing(struct call *, const apsule_message *);
void op_twice(struct call *, const apsule_message *);
void op_late(struct call *, const apsule_message *);
void op_wait(struct call *, const apsule_message *);
void op_block(struct call *, const apsule_message *);
void op_open(struct call *, const apsule_message *);
void op_data(struct call *, const apsule_message *);
void op_allows(struct call *, const apsule_message *);
void op_log(struct call *, const apsule_message *);
void op_crash(struct call *, const apsule_message *);
void op_forge(struct call *, const apsule_message *);
void op_malformed(struct call *, const apsule_message *);
void op_count(struct call *, const apsule_message *);
void op_flood(struct call *, const apsule_message *);
void op_early(struct call *, const apsule_message *);
void op_ticks(struct call *, const apsule_message *);
void op_failing(struct call *, const apsule_message *);
void op_over(struct call *, const apsule_message *);
void op_locked(struct call *, const apsule_message *);
void op_stubborn(struct call *, const apsule_message *);
#endif

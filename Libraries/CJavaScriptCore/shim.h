#include <JavaScriptCore/JavaScript.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Exported by libjavascriptcoregtk-4.1.so.0, declared only in WebKit's private headers (JSContextRefPrivate.h,
 * JSBasePrivate.h, JSLockRefPrivate.h). */
typedef bool (*JSShouldTerminateCallback)(JSContextRef context, void *data);
void JSContextGroupSetExecutionTimeLimit(
    JSContextGroupRef group, double limit, JSShouldTerminateCallback callback, void *data);
void JSContextGroupClearExecutionTimeLimit(JSContextGroupRef group);
void JSGlobalContextSetUnhandledRejectionCallback(JSGlobalContextRef context, JSObjectRef function, JSValueRef *exception);
void JSGlobalContextSetEvalEnabled(JSGlobalContextRef context, bool enabled, JSStringRef message);
void JSSynchronousGarbageCollectForDebugging(JSContextRef context);
JSStringRef JSContextCreateBacktrace(JSContextRef context, unsigned maximumFrames);
void JSLock(JSContextRef context);
void JSUnlock(JSContextRef context);

/* WTF::initializeMainThread(). Without it the collector's timers read a null main run loop and crash. */
extern void apsule_wtf_initialize_main_thread(void) __asm__("_ZN3WTF20initializeMainThreadEv");

/* GLib by asm label, so that no second module describes its types. */
extern void *apsule_loop_new(void) __asm__("g_main_context_new");
extern void apsule_loop_push(void *loop) __asm__("g_main_context_push_thread_default");
extern void apsule_loop_pop(void *loop) __asm__("g_main_context_pop_thread_default");
extern int apsule_loop_iterate(void *loop, int may_block) __asm__("g_main_context_iteration");
extern void apsule_loop_free(void *loop) __asm__("g_main_context_unref");

/* A GNU extension, which semaphore.h shows to GNU C only. */
extern int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline);

/* A family whose one operation does as little as a call can: what is left is the way to a thread and back. */
#include <stdio.h>
#include <unistd.h>

#include "apsule_plugin.h"

APSULE_DESCRIPTOR("hop.json");

static void *open_instance(void *context, const apsule_host *host, apsule_slice project)
{
    (void)context, (void)project;
    return (void *)host;
}

static void invoke(void *instance, uint32_t operation, apsule_call call, const apsule_message *arguments)
{
    (void)operation, (void)arguments;
    const apsule_host *host = instance;
    char text[16];
    int length = snprintf(text, sizeof text, "%d", (int)getppid());
    apsule_message result = {sizeof result, 0, {(const uint8_t *)text, (size_t)length}, NULL};
    host->reply(host->context, call, &result);
}

static void cancel(void *instance, apsule_call call) { (void)instance, (void)call; }
static void close_instance(void *instance) { (void)instance; }

static const char *const operations[] = {"getppid"};
static const apsule_plugin table = {
    .size = sizeof table, .abi = APSULE_ABI, .operations = operations, .operation_count = 1,
    .open = open_instance, .invoke = invoke, .cancel = cancel, .close = close_instance,
};

APSULE_ENTRY(hop) { return &table; }

#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_DESCRIPTORS 16

union control {
    char bytes[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
    struct cmsghdr alignment;
};

int64_t wire_send(
    int32_t socket, const void *first, size_t first_size, const void *second, size_t second_size,
    const int32_t *descriptors, size_t descriptor_count) {
    if (descriptor_count > MOST_DESCRIPTORS) return -EINVAL;
    struct iovec pieces[2] = {{(void *)(uintptr_t)first, first_size}, {(void *)(uintptr_t)second, second_size}};
    union control control;
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = second_size != 0 ? 2 : 1};
    if (descriptor_count != 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(descriptor_count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(descriptor_count * sizeof(int));
        memcpy(CMSG_DATA(header), descriptors, descriptor_count * sizeof(int));
    }
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

static void take_descriptors(struct msghdr *message, int32_t *descriptors, size_t room, size_t *count, bool *overflow) {
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t sent = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < sent; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
            if (*count < room) {
                descriptors[(*count)++] = descriptor;
            } else {
                close(descriptor);
                *overflow = true;
            }
        }
    }
}

int64_t wire_receive(
    int32_t socket, void *buffer, size_t size, int32_t *descriptors, size_t *descriptor_count) {
    union control control;
    struct iovec piece = {buffer, size};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control};
    size_t room = *descriptor_count;
    *descriptor_count = 0;
    ssize_t received;
    do received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0) return -errno;
    bool overflow = (message.msg_flags & MSG_CTRUNC) != 0;
    take_descriptors(&message, descriptors, room, descriptor_count, &overflow);
    if (!overflow) return received;
    while (*descriptor_count != 0) close(descriptors[--*descriptor_count]);
    return -EMSGSIZE;
}

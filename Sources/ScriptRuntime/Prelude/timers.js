// Timers: a binary heap here, one deadline on the host's side.

const timers = new Map(), heap = [];
let nextTimer = 1, timerOrder = 0, wakeAt = Infinity;

function addTimer(callback, delay, values, { every = false, quiet = false } = {}) {
    if (typeof callback !== "function") throw new TypeError(`A timer needs a function, not ${kindOf(callback)}`);
    let wait = Number(delay);
    if (!(wait >= 1 && wait <= 0x7fffffff)) wait = 1;
    const timer = { id: nextTimer++, callback, values, every, quiet, wait, at: native.now() + wait, order: timerOrder++ };
    timers.set(timer.id, timer);
    if (!quiet) shared[alive]++;
    push(timer);
    wake();
    return timer.id;
}

function removeTimer(id) {
    const timer = timers.get(Number(id));
    if (timer === undefined) return;
    timers.delete(timer.id);
    timer.callback = timer.values = undefined;
    if (!timer.quiet) shared[alive]--;
    // Cancelled timers leave the heap when they surface, or all at once when they are the most of it.
    if (heap.length > 64 && heap.length > 2 * timers.size) {
        const rest = [...timers.values()].sort((one, other) => (before(one, other) ? -1 : 1));
        heap.length = 0;
        for (const each of rest) heap.push(each);
    }
    wake();
}

function wake() {
    while (heap.length > 0 && !timers.has(heap[0].id)) pop();
    const at = heap.length > 0 ? heap[0].at : Infinity;
    if (at === wakeAt) return;
    wakeAt = at;
    native.wakeAt(at);
}

/** Runs one timer that is due and says whether there may be more: each has a turn of its own. */
function fireTimer() {
    if (fresh.length > 0) decide();
    const now = native.now();
    while (heap.length > 0 && !timers.has(heap[0].id)) pop();
    const timer = heap[0];
    if (timer === undefined || timer.at > now) {
        wakeAt = NaN;
        wake();
        return false;
    }
    pop();
    const { callback, values } = timer;
    if (timer.every) {
        timer.at = Math.max(now, timer.at + timer.wait);
        timer.order = timerOrder++;
        push(timer);
    } else {
        removeTimer(timer.id);
    }
    run(callback, ...values);
    return true;
}

function before(one, other) {
    return one.at !== other.at ? one.at < other.at : one.order < other.order;
}

function push(timer) {
    let index = heap.length;
    heap.push(timer);
    while (index > 0) {
        const parent = (index - 1) >> 1;
        if (before(heap[parent], timer)) break;
        heap[index] = heap[parent];
        index = parent;
    }
    heap[index] = timer;
}

function pop() {
    const first = heap[0], last = heap.pop();
    if (heap.length === 0) return first;
    let index = 0;
    for (;;) {
        let child = 2 * index + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && before(heap[child + 1], heap[child])) child++;
        if (before(last, heap[child])) break;
        heap[index] = heap[child];
        index = child;
    }
    heap[index] = last;
    return first;
}

function queueMicrotask(callback) {
    if (typeof callback !== "function") throw new TypeError(`queueMicrotask needs a function, not ${kindOf(callback)}`);
    nextTurn.then(() => run(callback));
}
const nextTurn = Promise.resolve();

internal import CProcess
internal import Glibc
internal import Synchronization

/// The sending half of a channel: straight to the socket while it takes bytes, else a bounded queue and a thread that
/// empties it.
final class FrameQueue: Sendable {
    private static let maximumBytes = 8 << 20
    private static let maximumFrames = 4_096

    private struct Waiting {
        var bytes: [UInt8]
        var offset = 0
        /// Go with the first byte; empty once that was sent.
        var files: [OwnedFile]
    }

    private struct State {
        var frames: [Waiting] = []
        var bytes = 0
        var isDraining = false
        var isClosed = false
        var waiters: [Signal] = []

        var isFull: Bool { bytes > FrameQueue.maximumBytes || frames.count >= FrameQueue.maximumFrames }
    }

    private let socket: OwnedFile
    private let state = Mutex(State())

    init(_ socket: OwnedFile) { self.socket = socket }

    func send(_ frame: Frame) -> FrameChannel.Sent {
        let header = FrameReader.header(kind: frame.kind, bodySize: frame.body.count, fileCount: frame.files.count)
        let (sent, mustDrain) = state.withLock { state -> (FrameChannel.Sent, Bool) in
            if state.isClosed { return (.closed, false) }
            if state.isFull { return (.full, false) }
            var count = 0
            if state.frames.isEmpty {
                count = transmit(header[...], frame.body[...], frame.files)
                if count == header.count + frame.body.count { return (.sent, false) }
                guard count >= 0 || Self.isBusy(count) else {
                    state.isClosed = true
                    return (.closed, false)
                }
            }
            let rest = Waiting(bytes: header + frame.body, offset: max(0, count), files: count > 0 ? [] : frame.files)
            state.frames.append(rest)
            state.bytes += rest.bytes.count
            defer { state.isDraining = true }
            return (.sent, !state.isDraining)
        }
        // Not under the lock: a thread that cannot be made runs its work at once, here.
        if mustDrain { Thread.start(name: "apsule.send") { [self] in drain() } }
        return sent
    }

    /// Waits until the queue has room or the channel is closed.
    func waitForRoom() {
        let signal: Signal? = state.withLock { state in
            guard state.isFull, !state.isClosed else { return nil }
            let signal = Signal()
            state.waiters.append(signal)
            return signal
        }
        signal?.wait()
    }

    func close() {
        let waiters = state.withLock { state in
            defer { (state.frames, state.bytes, state.waiters) = ([], 0, []) }
            state.isClosed = true
            return state.waiters
        }
        waiters.forEach { $0.post() }
    }

    private func drain() {
        while true {
            // Nothing to poll for when it is the number of files under way that is too high.
            var polled = pollfd(fd: socket.raw, events: Int16(POLLOUT), revents: 0)
            poll(&polled, 1, 1_000)
            let (waiters, isDone, mustRest) = state.withLock { state in
                let blocked = flush(&state)
                var waiters: [Signal] = []
                if !state.isFull || state.isClosed { swap(&waiters, &state.waiters) }
                let isDone = state.frames.isEmpty
                if isDone { state.isDraining = false }
                return (waiters, isDone, blocked == ETOOMANYREFS)
            }
            waiters.forEach { $0.post() }
            if isDone { return }
            if mustRest { usleep(2_000) }
        }
    }

    /// Sends what the socket takes; the errno that stopped it, or 0.
    private func flush(_ state: inout State) -> Int32 {
        var done = 0
        var blocked: Int32 = 0
        while done < state.frames.count, blocked == 0 {
            let frame = state.frames[done]
            let count = transmit(frame.bytes[frame.offset...], [], frame.files)
            if count > 0 {
                state.frames[done].offset += count
                state.frames[done].files = []
                guard state.frames[done].offset == frame.bytes.count else { continue }
                state.bytes -= frame.bytes.count
                done += 1
            } else {
                blocked = Int32(-count)
                if !Self.isBusy(count) {
                    (state.isClosed, state.bytes) = (true, 0)
                    state.frames = []
                    return blocked
                }
            }
        }
        state.frames.removeFirst(done)
        return blocked
    }

    private func transmit(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>, _ files: [OwnedFile]) -> Int {
        let descriptors = files.map(\.raw)
        return first.withUnsafeBytes { first in
            second.withUnsafeBytes { second in
                Int(
                    wire_send(
                        socket.raw, first.baseAddress, first.count, second.baseAddress, second.count, descriptors,
                        descriptors.count))
            }
        }
    }

    /// Whether trying again later may help.
    private static func isBusy(_ result: Int) -> Bool {
        result == -Int(EAGAIN) || result == -Int(ENOBUFS) || result == -Int(ENOMEM) || result == -Int(ETOOMANYREFS)
    }
}

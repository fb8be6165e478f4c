public import ApsuleKit
internal import CProcess
internal import Glibc
internal import Synchronization

/// Frames over a stream socket, both ways.
///
/// A caller of `send` never waits for a peer that does not read: what the socket does not take is queued, and where the
/// queue is full the caller is told. Any thread may send; `receive` is for one thread at a time, others wait in turn.
public final class FrameChannel: Sendable {
    public enum Sent: Sendable { case sent, full, closed }

    private let socket: OwnedFile
    private let incoming = Mutex(Incoming())
    private let outgoing: FrameQueue

    private struct Incoming {
        var reader = FrameReader()
        var files: [OwnedFile] = []
        var failure: HostError?
    }

    public init(_ socket: OwnedFile) {
        self.socket = socket
        outgoing = FrameQueue(socket)
    }

    /// Sends a frame, or queues it behind others.
    ///
    /// Its files are closed here once they have been sent.
    @discardableResult
    public func send(_ frame: Frame) -> Sent { outgoing.send(frame) }

    /// Like `send`, but waits while the queue is full: for whoever may be slowed down.
    @discardableResult
    public func sendWaiting(_ frame: Frame) -> Sent {
        while true {
            let sent = outgoing.send(frame)
            guard sent == .full else { return sent }
            outgoing.waitForRoom()
        }
    }

    /// Waits for the next frame; nil at an orderly end.
    ///
    /// After an error the channel is closed, and the error comes again.
    ///
    /// - Throws: `host.wire_malformed`, `host.system_error`.
    public func receive() throws(HostError) -> Frame? {
        // The lock is the turn to read: whoever holds it waits for the peer.
        let result: Result<Frame?, HostError> = incoming.withLock { incoming in
            if let failure = incoming.failure { return .failure(failure) }
            do throws(HostError) {
                return .success(try read(&incoming))
            } catch {
                incoming.failure = error
                incoming.files = []
                close()
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Ends the channel for both sides; a thread in `receive` gets nil.
    public func close() {
        outgoing.close()
        shutdown(socket.raw, CInt(SHUT_RDWR))
    }

    private func read(_ incoming: inout Incoming) throws(HostError) -> Frame? {
        while true {
            if let piece = try incoming.reader.next() {
                guard incoming.files.count >= piece.fileCount else { throw .malformed("a frame without its files") }
                let files = Array(incoming.files.prefix(piece.fileCount))
                incoming.files.removeFirst(piece.fileCount)
                return Frame(piece.kind, piece.body, files: files)
            }
            let count = fill(&incoming)
            // Files come with their frame, so that few can wait: more would only use up this process's descriptors.
            guard incoming.files.count <= 2 * FrameReader.maximumFiles else {
                throw .malformed("files without a frame")
            }
            if count > 0 { continue }
            // A peer that ended with our bytes unread is reported as a reset; it is an end all the same.
            guard count == 0 || count == -Int(ECONNRESET) else {
                throw .system("The other process cannot be read from", Int32(-count))
            }
            guard incoming.reader.isAtBoundary else { throw .malformed("a part of a frame, and ended") }
            return nil
        }
    }

    private func fill(_ incoming: inout Incoming) -> Int {
        var descriptors = [Int32](repeating: -1, count: FrameReader.maximumFiles)
        var descriptorCount = descriptors.count
        let count = incoming.reader.fill { room in
            Int(wire_receive(socket.raw, room.baseAddress, room.count, &descriptors, &descriptorCount))
        }
        if count > 0 { incoming.files += descriptors.prefix(descriptorCount).map(OwnedFile.init) }
        return count
    }
}

public import ApsuleKit
internal import Glibc
internal import Synchronization

/// Writes what crosses between host and families, a line an entry, as it happens.
///
/// Whole lines only: a run that is killed leaves a recording that can be replayed up to then.
public final class CallRecorder: Sendable {
    private let file: OwnedFile
    private let start = Clock.now
    private let report: @Sendable (HostError) -> Void
    private let state = Mutex(State())

    private struct State {
        var written = 0
        var isStopped = false
    }

    /// - Parameters:
    ///   - file: open for appending.
    ///   - report: hears once why nothing more is recorded: a full disk, say.
    public init(_ file: OwnedFile, report: @escaping @Sendable (HostError) -> Void) {
        (self.file, self.report) = (file, report)
        // Only now: an older recording outlives a run that never starts.
        _ = ftruncate(file.raw, 0)
        write([
            "apsule": "recording", "version": .int(Recording.version), "host": .string(Discovery.hostVersion),
            "platform": .string(Discovery.platform), "date": .string(Timestamp.text(Clock.wall)),
        ])
    }

    /// Notes the start of a call.
    func call(_ number: Int64, _ key: CallKey) {
        note(number, "operation", .string(key.operation), ["arguments": key.arguments])
    }

    /// Notes a value of a call under a name; nil for one that is secret.
    func note(_ call: Int64, _ name: String, _ payload: Payload?, event: String? = nil) {
        var more: JSON = [:]
        if let blobs = payload?.blobs, !blobs.isEmpty {
            more.set("blobs", .array(blobs.map { .string($0.withBytes { Base64.encode($0) }) }))
        }
        if payload == nil { more.set("redacted", true) }
        let value = payload.map { $0.value ?? .null } ?? .null
        guard let event else { return note(call, name, value, more) }
        note(call, "event", .string(event), .object([.init(name, value)] + (more.members ?? [])))
    }

    func note(_ call: Int64, _ name: String, _ value: JSON, _ more: JSON = [:]) {
        let time = Clock.now - start
        write(.object([.init("t", .int(time)), .init("call", .int(call)), .init(name, value)] + (more.members ?? [])))
    }

    private func write(_ line: JSON) {
        let bytes = line.bytes + [UInt8(ascii: "\n")]
        let problem: HostError? = state.withLock { state in
            guard !state.isStopped else { return nil }
            if state.written + bytes.count > Recording.maximumBytes {
                state.isStopped = true
                return Self.stopped("it has reached \(Recording.maximumBytes >> 20) MiB")
            }
            let code = FileWriter.write(bytes, to: file.raw)
            if code == 0 {
                state.written += bytes.count
                return nil
            }
            state.isStopped = true
            // What was written of the line goes again.
            _ = ftruncate(file.raw, off_t(state.written))
            return Self.stopped(String(cString: strerror(code)))
        }
        if let problem { report(problem) }
    }

    private static func stopped(_ reason: String) -> HostError {
        HostError(
            "replay.recording_stopped", "The recording ends here: \(reason).", details: ["reason": .string(reason)])
    }
}

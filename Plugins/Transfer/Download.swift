import ApsuleKit
import ApsuleTransport
import Synchronization

/// Takes the answers that make up one file.
final class Download: HTTPReceiver {
    let draft: FileDraft
    private let progress: Progress
    private let state = Mutex(State())

    private struct State {
        var received: Int64 = 0
        var total: Int64?
        var hasStarted = false
        /// What shows that a later answer is of the same file.
        var validator: String?
    }

    init(_ draft: FileDraft, _ progress: Progress) { (self.draft, self.progress) = (draft, progress) }

    var received: Int64 { state.withLock { $0.received } }

    /// The headers that ask for what is missing; nil where the server cannot tell whether the file is still the same.
    var rest: [HTTPHeader]? {
        state.withLock { state in
            state.validator.map { [HTTPHeader("Range", "bytes=\(state.received)-"), HTTPHeader("If-Range", $0)] }
        }
    }

    func begin(_ response: HTTPResponse) throws(HostError) {
        let head = response.head
        let (received, before) = state.withLock { ($0.received, $0.validator) }
        guard head.isSuccess else { throw TransferFamily.httpStatus(response) }
        let validator = Self.validator(head)
        let total: Int64?
        if head.status == 206 {
            guard received > 0, let range = ContentRange(head["content-range"]), range.start == received,
                validator == nil || validator == before
            else { throw changed(response) }
            total = range.total
        } else {
            // All of it, perhaps because it is another file by now.
            if received > 0 { try draft.restart() }
            state.withLock { ($0.received, $0.validator) = (0, validator) }
            total = head["content-length"].flatMap { Int64($0) }
        }
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            state.total = total
            return !state.hasStarted
        }
        progress.advance(to: self.received, of: total)
        if isFirst { progress.note(.start(response)) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(HostError) -> Bool {
        try draft.write(bytes)
        let (received, total) = state.withLock { state in
            state.received += Int64(bytes.count)
            return (state.received, state.total)
        }
        progress.advance(to: received, of: total)
        return true
    }

    /// A strong ETag, or the time of the last change, of a server that gives parts.
    ///
    /// Source: <https://www.rfc-editor.org/rfc/rfc9110#name-if-range>
    private static func validator(_ head: HTTPHead) -> String? {
        guard head["accept-ranges"] != "none" else { return nil }
        if let tag = head["etag"], tag.hasPrefix("\"") { return tag }
        return head["last-modified"]
    }

    private func changed(_ response: HTTPResponse) -> HostError {
        HostError(
            "transfer.changed", "The server gives another part than the one that is missing.",
            details: ["url": .string(response.url.text)])
    }
}

/// What a `Content-Range` says, as `bytes 5-9/10`.
struct ContentRange {
    let start: Int64
    let total: Int64?

    init?(_ header: String?) {
        guard let header, header.lowercased().hasPrefix("bytes ") else { return nil }
        let halves = header.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard halves.count == 2, ends.count == 2, let start = Int64(ends[0]), let end = Int64(ends[1]), start >= 0,
            end >= start
        else { return nil }
        self.start = start
        total = Int64(halves[1])
    }
}

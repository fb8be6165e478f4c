internal import CApsule
internal import Glibc
internal import Synchronization

/// The host's table, guarded so that nothing calls it once `close` has returned.
///
/// `@unchecked Sendable`: the table is immutable and valid until close returns, and its functions take any thread.
final class HostLink: @unchecked Sendable {
    let family: String
    private let host: UnsafePointer<apsule_host>
    /// Calls under way, and `closedBit` once the instance is being closed.
    private let users = Atomic<Int>(0)
    private static let closedBit = 1 << 62

    init(family: String, host: UnsafePointer<apsule_host>) {
        self.family = family
        self.host = host
    }

    private func use<R>(otherwise: R, _ body: (UnsafePointer<apsule_host>, UnsafeMutableRawPointer?) -> R) -> R {
        let before = users.add(1, ordering: .acquiring).oldValue
        defer { users.subtract(1, ordering: .releasing) }
        guard before & Self.closedBit == 0 else { return otherwise }
        return body(host, host.pointee.context)
    }

    /// Drops every later call and waits for those under way.
    func close() {
        users.add(Self.closedBit, ordering: .sequentiallyConsistent)
        while users.load(ordering: .acquiring) & (Self.closedBit - 1) != 0 { sched_yield() }
    }

    func reply(_ call: apsule_call, _ message: Message) {
        use(otherwise: ()) { host, context -> Void in
            message.withABI { host.pointee.reply(context, call, $0) }
        }
    }

    func fail(_ call: apsule_call, _ error: HostError) {
        use(otherwise: ()) { host, context -> Void in
            error.json.bytes.withSlice { slice in host.pointee.fail(context, call, slice) }
        }
    }

    func event(_ call: apsule_call, _ name: String, _ message: Message) -> Int32 {
        use(otherwise: Int32(bitPattern: APSULE_STOP.rawValue)) { host, context in
            name.withSlice { name in message.withABI { host.pointee.event(context, call, name, $0) } }
        }
    }

    func end(_ call: apsule_call, _ message: Message) {
        use(otherwise: ()) { host, context -> Void in
            message.withABI { host.pointee.end(context, call, $0) }
        }
    }

    func log(_ level: LogLevel, _ text: String) {
        use(otherwise: ()) { host, context -> Void in
            text.withSlice { slice in host.pointee.log(context, level.rawValue, slice) }
        }
    }

    func openPath(_ call: apsule_call, _ path: String, _ flags: Int32, _ mode: UInt32) -> Int32 {
        use(otherwise: -ECANCELED) { host, context in
            path.withSlice { host.pointee.open_path(context, call, $0, flags, mode) }
        }
    }

    func dataDirectory() -> Int32 {
        use(otherwise: -ECANCELED) { host, context in host.pointee.data_directory(context) }
    }

    func allows(_ call: apsule_call, _ scope: String, _ value: String) -> Bool {
        use(otherwise: false) { host, context in
            scope.withSlice { scope in
                value.withSlice { host.pointee.allows(context, call, scope, $0) == 1 }
            }
        }
    }
}

extension Message {
    /// The message in the ABI's form: null is NULL, blobs are borrowed for the call.
    func withABI<R>(_ body: (UnsafePointer<apsule_message>?) -> R) -> R {
        if json == .null && blobs.isEmpty { return body(nil) }
        return json.bytes.withSlice { slice in
            var message = apsule_message(
                size: UInt32(MemoryLayout<apsule_message>.size), blob_count: UInt32(blobs.count), json: slice,
                blobs: nil)
            if blobs.isEmpty { return withUnsafePointer(to: message, body) }
            // One allocation for all blobs: each array's own storage may move while another is borrowed.
            let total = blobs.flatMap { $0 }
            return total.withUnsafeBufferPointer { bytes in
                var offset = 0
                let table = blobs.map { blob in
                    defer { offset += blob.count }
                    return apsule_blob(
                        data: blob.isEmpty ? nil : bytes.baseAddress.map { $0 + offset }, size: blob.count,
                        release: nil,
                        owner: nil)
                }
                return table.withUnsafeBufferPointer {
                    message.blobs = $0.baseAddress
                    return withUnsafePointer(to: message, body)
                }
            }
        }
    }
}

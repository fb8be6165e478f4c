import ApsuleKit
import CApsule
import Glibc

/// The functions that the host offers a plugin in this process.
///
/// `context` is the `PluginProvider`.
enum HostTable {
    static func make() -> apsule_host {
        apsule_host(
            size: UInt32(MemoryLayout<apsule_host>.size), abi: UInt32(APSULE_ABI), context: nil,
            reply: { context, call, result in
                // Read first, also for a call that is gone: its owned blobs are released here.
                guard isWhole(result) else { return provider(context)?.malformed(call, "reply") ?? () }
                let payload = Payload(abi: result)
                provider(context)?.answer(call)?.reply(payload)
            },
            fail: { context, call, error in
                let json = (try? JSON(parsing: error.buffer)) ?? .null
                guard let owner = provider(context) else { return }
                owner.failed(call, HostError(json: json, fallback: "\(owner.family).failed"))
            },
            event: { context, call, name, event in
                guard isWhole(event) else {
                    provider(context)?.malformed(call, "event")
                    return Flow.stop.rawValue
                }
                let payload = Payload(abi: event)
                guard let sink = provider(context)?.sink(call) else { return Flow.stop.rawValue }
                return sink.event(name.text, payload).rawValue
            },
            end: { context, call, result in
                guard isWhole(result) else { return provider(context)?.malformed(call, "end") ?? () }
                let payload = Payload(abi: result)
                provider(context)?.take(call, "end")?.end(payload)
            },
            log: { context, level, message in
                provider(context)?.log(LogLevel(rawValue: level) ?? .info, message.text)
            },
            open_path: { context, call, path, flags, mode in
                guard let sink = provider(context)?.sink(call) else { return -EINVAL }
                return sink.openPath(path.text, flags: flags, mode: mode)
            },
            data_directory: { context in provider(context)?.dataDirectory() ?? -EINVAL },
            allows: { context, call, scope, value in
                provider(context)?.sink(call)?.allows(scope.text, value.text) == true ? 1 : 0
            })
    }
}

/// Whether all of a message may be read: its size covers every field, and what it counts is there.
private func isWhole(_ message: UnsafePointer<apsule_message>?) -> Bool {
    // The size first: it says what else is there.
    guard let message else { return true }
    guard message.pointee.size >= UInt32(MemoryLayout<apsule_message>.size) else { return false }
    return message.pointee.json.data != nil && (message.pointee.blob_count == 0 || message.pointee.blobs != nil)
}

private func provider(_ context: UnsafeMutableRawPointer?) -> PluginProvider? {
    context.map { Unmanaged<PluginProvider>.fromOpaque($0).takeUnretainedValue() }
}

extension Payload {
    /// Copies the JSON; takes owned blobs over and copies borrowed ones.
    init?(abi message: UnsafePointer<apsule_message>?) {
        guard let message = message?.pointee else { return nil }
        self.init(
            json: Array(message.json.buffer),
            blobs: UnsafeBufferPointer(start: message.blobs, count: Int(message.blob_count)).map { Blob(abi: $0) })
    }

    /// The payload in the ABI's form, lent for the time of `body`.
    func withABI<R>(_ body: (UnsafePointer<apsule_message>) -> R) -> R {
        json.withSlice { slice in
            var message = apsule_message(
                size: UInt32(MemoryLayout<apsule_message>.size), blob_count: UInt32(blobs.count), json: slice,
                blobs: nil)
            if blobs.isEmpty { return withUnsafePointer(to: message, body) }
            let table = blobs.map { $0.borrowed }
            return withExtendedLifetime(blobs) {
                table.withUnsafeBufferPointer {
                    message.blobs = $0.baseAddress
                    return withUnsafePointer(to: message, body)
                }
            }
        }
    }
}

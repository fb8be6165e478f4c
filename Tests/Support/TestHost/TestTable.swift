import ApsuleKit
import CApsule

extension TestDesk {
    /// The table whose context is this desk, unretained: whoever passes it on keeps the desk.
    func table() -> apsule_host {
        apsule_host(
            size: UInt32(MemoryLayout<apsule_host>.size), abi: UInt32(APSULE_ABI),
            context: Unmanaged.passUnretained(self).toOpaque(),
            reply: { TestDesk.at($0)?.reply($1, Message(abi: $2)) },
            fail: { context, call, error in
                let json = (try? JSON(parsing: error.buffer)) ?? .null
                TestDesk.at(context)?.fail(call, HostError(json: json, fallback: "test.bad_error"))
            },
            event: { TestDesk.at($0)?.event($1, $2.text, Message(abi: $3)) ?? Int32(bitPattern: APSULE_STOP.rawValue) },
            end: { TestDesk.at($0)?.end($1, Message(abi: $2)) },
            log: { context, level, text in
                let level = LogLevel(rawValue: level).map { "\($0)" } ?? "level \(level)"
                TestDesk.at(context)?.log("\(level): \(text.text)")
            },
            open_path: { context, _, path, flags, mode in
                TestDesk.at(context)?.openPath(path.text, flags: flags, mode: mode) ?? -1
            },
            data_directory: { TestDesk.at($0)?.dataDirectory() ?? -1 },
            allows: { TestDesk.at($0)?.allows($2.text, $3.text) == true ? 1 : 0 })
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> TestDesk? {
        context.map { Unmanaged<TestDesk>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension Message {
    /// A copy of what the plugin lent; blobs that it gave away are released.
    init(abi message: UnsafePointer<apsule_message>?) {
        guard let message = message?.pointee else {
            self.init()
            return
        }
        let blobs = UnsafeBufferPointer(start: message.blobs, count: Int(message.blob_count))
        let json = (try? JSON(parsing: message.json.buffer)) ?? .string("the plugin sent what is no JSON")
        self.init(json, blobs: blobs.map { [UInt8](UnsafeBufferPointer(start: $0.data, count: $0.size)) })
        for blob in blobs { blob.release?(blob.owner) }
    }
}

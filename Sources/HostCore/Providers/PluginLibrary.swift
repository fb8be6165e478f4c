public import ApsuleKit
internal import CApsule
internal import Glibc

/// One loaded plugin library; it stays mapped until the process ends.
///
/// `@unchecked Sendable`: the table lives as long as the process and is immutable.
public final class PluginLibrary: @unchecked Sendable {
    public let family: String
    public let operations: [String]
    let table: UnsafePointer<apsule_plugin>

    /// Loads a library that the caller has checked.
    ///
    /// - Parameter path: a file, or `/proc/self/fd/N` of a sealed copy.
    /// - Throws: `plugin.not_loadable`, `plugin.entry_missing`, `plugin.abi_mismatch`, `plugin.operations_mismatch`.
    public init(path: String, descriptor: Descriptor) throws(HostError) {
        family = descriptor.family
        guard let handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
            throw HostError("plugin.not_loadable", String(cString: dlerror()))
        }
        let name = "apsule_plugin_\(descriptor.family)"
        guard let symbol = dlsym(handle, name) else {
            throw HostError("plugin.entry_missing", "The library does not export \(name).")
        }
        let entry = unsafeBitCast(symbol, to: (@convention(c) () -> UnsafePointer<apsule_plugin>?).self)
        guard let table = entry() else { throw HostError("plugin.entry_missing", "\(name) gave no table.") }
        guard table.pointee.abi == APSULE_ABI, table.pointee.size >= UInt32(MemoryLayout<apsule_plugin>.size),
            table.pointee.open != nil, table.pointee.invoke != nil, table.pointee.cancel != nil,
            table.pointee.close != nil
        else {
            throw HostError(
                "plugin.abi_mismatch",
                "The plugin was made for ABI \(table.pointee.abi), this host has ABI \(APSULE_ABI).",
                details: ["host": .int(Int64(APSULE_ABI)), "plugin": .int(Int64(table.pointee.abi))])
        }
        self.table = table
        var operations: [String] = []
        for index in 0..<Int(table.pointee.operation_count) {
            guard let name = table.pointee.operations?[index] else { break }
            operations.append(String(cString: name))
        }
        guard Set(operations) == Set(descriptor.operations.map(\.name)), Set(operations).count == operations.count
        else {
            let odd = Set(operations).symmetricDifference(descriptor.operations.map(\.name)).sorted()
            throw HostError(
                "plugin.operations_mismatch", "Plugin and descriptor differ in: \(odd.joined(separator: ", ")).",
                details: ["operations": .array(odd.map { .string($0) })])
        }
        let lossless = descriptor.operations.first { $0.kind == .stream && $0.delivery == .lossless }
        if let lossless, table.pointee.resume == nil {
            throw HostError("plugin.abi_mismatch", "\(lossless.fullName) is lossless, but the plugin has no resume.")
        }
        self.operations = operations
    }

    /// Loads a bundled library after looking it over.
    public convenience init(inspecting path: String) throws(HostError) {
        try self.init(path: path, descriptor: try PluginInspection.descriptor(of: path, isBundled: true))
    }

    /// Asks whether the family can work here; `completion` runs once, on any thread.
    public func probe(_ completion: @escaping @Sendable (JSON) -> Void) {
        guard let probe = table.pointee.probe else { return completion(["status": "ready"]) }
        let token = Unmanaged.passRetained(ProbeAnswer(completion)).toOpaque()
        probe(
            table.pointee.context,
            { token, status in
                guard let token else { return }
                let answer = Unmanaged<ProbeAnswer>.fromOpaque(token).takeRetainedValue()
                answer.completion(
                    (try? JSON(parsing: status.buffer)) ?? [
                        "status": "unavailable", "reason": "The probe gave no JSON.",
                    ])
            }, token)
    }

    /// Asks, and waits for the answer: nil where none came in time.
    ///
    /// On a thread of its own, which is left behind where the plugin does not return.
    public func probe(milliseconds: Int) -> JSON? {
        let answer = OneAnswer<JSON>()
        Thread.start(name: "apsule.probe") { [self] in probe { answer.give($0) } }
        return answer.wait(milliseconds: milliseconds)
    }
}

private final class ProbeAnswer: Sendable {
    let completion: @Sendable (JSON) -> Void
    init(_ completion: @escaping @Sendable (JSON) -> Void) { self.completion = completion }
}

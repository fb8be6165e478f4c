public import CApsule

/// The ABI table of one family.
///
///     @c(apsule_plugin_storage)
///     public func entry() -> UnsafePointer<apsule_plugin>? { table }
///     nonisolated(unsafe) private let table = PluginTable.make(StorageFamily.self)
public enum PluginTable {
    /// Makes a table that lives as long as the process; called once, for a global.
    public static func make<F: Family>(_: F.Type) -> UnsafePointer<apsule_plugin>? {
        let factory = FamilyFactory<F>()
        let names = UnsafeMutableBufferPointer<UnsafePointer<CChar>?>.allocate(capacity: factory.operations.count)
        for (index, operation) in factory.operations.enumerated() {
            names.initializeElement(at: index, to: copy(operation.name))
        }
        let table = UnsafeMutablePointer<apsule_plugin>.allocate(capacity: 1)
        table.initialize(
            to: apsule_plugin(
                size: UInt32(MemoryLayout<apsule_plugin>.size), abi: UInt32(APSULE_ABI),
                context: Unmanaged.passRetained(factory as Factory).toOpaque(),
                operations: UnsafePointer(names.baseAddress), operation_count: UInt32(names.count),
                probe: { context, answer, token in
                    guard let context, let answer else { return }
                    let status = Unmanaged<Factory>.fromOpaque(context).takeUnretainedValue().probe()
                    status.json.bytes.withSlice { answer(token, $0) }
                },
                open: { context, host, project in
                    guard let context, let host else { return nil }
                    return Unmanaged<Factory>.fromOpaque(context).takeUnretainedValue().open(host, project)
                },
                invoke: { instance, operation, call, arguments in
                    guard let instance else { return }
                    Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue()
                        .invoke(Int(operation), call, Arguments(abi: arguments))
                },
                cancel: { instance, call in
                    guard let instance else { return }
                    Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue().cancel(call)
                },
                resume: { instance, call in
                    guard let instance else { return }
                    Unmanaged<Instance>.fromOpaque(instance).takeUnretainedValue().resume(call)
                },
                close: { instance in
                    guard let instance else { return }
                    Unmanaged<Instance>.fromOpaque(instance).takeRetainedValue().close()
                }))
        return UnsafePointer(table)
    }

    private static func copy(_ text: String) -> UnsafePointer<CChar>? {
        let bytes = text.utf8CString
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { (buffer + index).initialize(to: byte) }
        return UnsafePointer(buffer)
    }
}

/// Makes instances of one family; the C functions know it without its type.
class Factory: @unchecked Sendable {
    // @unchecked: immutable after init.
    func probe() -> Availability { .ready }
    func open(_ host: UnsafePointer<apsule_host>, _ project: apsule_slice) -> UnsafeMutableRawPointer? { nil }
}

final class FamilyFactory<F: Family>: Factory, @unchecked Sendable {
    // @unchecked: immutable after init.
    let operations = F.operations

    override func probe() -> Availability { F.probe() }

    override func open(_ host: UnsafePointer<apsule_host>, _ project: apsule_slice) -> UnsafeMutableRawPointer? {
        let link = HostLink(family: F.name, host: host)
        let json = (try? JSON(parsing: project.buffer)) ?? .null
        let project = Project(
            id: json["id"]?.stringValue ?? "", settings: json["settings"] ?? .object([]), link: link)
        do {
            let instance = FamilyInstance(try F(project), operations: operations, link: link)
            return Unmanaged.passRetained(instance as Instance).toOpaque()
        } catch {
            link.fail(0, error as? HostError ?? HostError("\(F.name).unavailable", "\(error)"))
            return nil
        }
    }
}

extension Arguments {
    /// Copies what the host lends for the time of `invoke`; the host has checked that it is JSON.
    init(abi message: UnsafePointer<apsule_message>?) {
        guard let message = message?.pointee else {
            self.init(.object([]))
            return
        }
        let blobs = UnsafeBufferPointer(start: message.blobs, count: Int(message.blob_count))
            .map { Array(UnsafeBufferPointer(start: $0.data, count: $0.size)) }
        self.init((try? JSON(parsing: message.json.buffer)) ?? .null, blobs: blobs)
    }
}

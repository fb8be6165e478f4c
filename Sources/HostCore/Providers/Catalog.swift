public import ApsuleKit
internal import Synchronization

/// The families that can be called, and their providers, which are opened at the first call.
public final class Catalog: Sendable {
    /// Makes the provider of a family; called at most once at a time a family.
    public typealias Open = @Sendable (Descriptor, any ProviderHost) throws(HostError) -> any Provider

    private let registry: Registry
    private let open: Open
    private let providers = Mutex<[String: Slot]>([:])
    private let opening = Mutex(())

    private struct Slot {
        let provider: any Provider
        let indices: [String: Int]
    }

    public init(registry: Registry, open: @escaping Open) {
        (self.registry, self.open) = (registry, open)
    }

    /// Families whose descriptor is valid and whose plugin is trusted; one that is unavailable still has its proxies,
    /// and says why when it is called.
    public var callable: [Descriptor] {
        registry.snapshot.entries.filter { $0.isCallable }.compactMap(\.descriptor)
    }

    public func operation(_ name: String) -> OperationDescriptor? {
        guard let dot = name.firstIndex(of: "."),
            let entry = registry.snapshot.entry(String(name[..<dot])), entry.isCallable
        else { return nil }
        return entry.descriptor?.operation(String(name[name.index(after: dot)...]))
    }

    func index(of operation: OperationDescriptor) -> Int? {
        providers.withLock { $0[operation.family]?.indices[operation.name] }
    }

    func openProvider(_ family: String) -> (any Provider)? { providers.withLock { $0[family]?.provider } }

    /// The family's provider, opened now where it is not yet.
    func provider(_ family: String, host: any ProviderHost) throws(HostError) -> any Provider {
        if let provider = openProvider(family) { return provider }
        // One opening at a time: opening may be slow, and no lock that calls need is held meanwhile.
        let result: Result<any Provider, HostError> = opening.withLock { _ in
            if let provider = openProvider(family) { return .success(provider) }
            do throws(HostError) {
                let provider = try make(family, host)
                let indices = Dictionary(uniqueKeysWithValues: provider.operations.enumerated().map { ($1, $0) })
                providers.withLock { $0[family] = Slot(provider: provider, indices: indices) }
                return .success(provider)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func make(_ family: String, _ host: any ProviderHost) throws(HostError) -> any Provider {
        guard let entry = registry.snapshot.entry(family), let descriptor = entry.descriptor else { throw unknown(family) }
        if let error = entry.error { throw error }
        return try open(descriptor, host)
    }

    /// The error for an operation that nobody serves, with the nearest one that is served.
    func unknown(_ operation: String) -> HostError {
        let snapshot = registry.snapshot
        let family = String(operation.prefix { $0 != "." })
        if let entry = snapshot.entry(family), !entry.isCallable, let error = entry.error { return error }
        let names = snapshot.entries.filter(\.isCallable).compactMap(\.descriptor).flatMap { $0.operations.map(\.fullName) }
        let nearest = Suggestion.nearest(to: operation, among: names)
        let hint = nearest.map { " Did you mean \($0)?" } ?? ""
        return HostError(
            "host.operation_unknown", "There is no operation \(operation).\(hint)",
            details: ["operation": .string(operation), "suggestion": nearest.map { .string($0) } ?? .null])
    }

    func closeProviders() {
        let open = providers.withLock { providers in
            defer { providers = [:] }
            return Array(providers.values)
        }
        for slot in open { slot.provider.close() }
    }
}

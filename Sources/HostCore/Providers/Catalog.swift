public import ApsuleKit
internal import Synchronization

/// The families that can be called, and their providers, which are opened at the first call.
public final class Catalog: Sendable {
    /// Makes the provider of a family; called at most once at a time a family.
    public typealias Open = @Sendable (Descriptor, any ProviderHost) throws(HostError) -> any Provider

    private let registry: Registry
    private let open: Open
    private let state = Mutex(State())

    private struct State {
        /// Those that are open: few, so that looking through them takes less time than hashing a name.
        var families: [(name: String, family: OpenFamily)] = []
        var turns: [String: Turn] = [:]
        var isClosed = false
    }

    /// Whose turn it is to open one family: opening may be slow, and must hold up nobody who calls another.
    private final class Turn: Sendable {
        let lock = Mutex(())
    }

    public init(registry: Registry, open: @escaping Open) {
        (self.registry, self.open) = (registry, open)
    }

    /// Families whose descriptor is valid and whose plugin is trusted; one that is unavailable still has its proxies,
    /// and says why when it is called.
    public var callable: [Descriptor] {
        registry.snapshot.entries.filter { $0.isCallable }.compactMap(\.descriptor)
    }

    public func operation(_ name: String) -> OperationDescriptor? { registry.snapshot.operation(name) }

    func openFamily(_ name: String) -> OpenFamily? {
        state.withLock { state in state.families.first { JSON.same($0.name, name) }?.family }
    }

    /// The family's provider, opened now where it is not yet.
    ///
    /// - Throws: why it cannot be opened; `host.cancelled` once the catalog is closed.
    func family(_ name: String, host: any ProviderHost) throws(HostError) -> OpenFamily {
        if let family = openFamily(name) { return family }
        let turn = state.withLock { state in
            if let turn = state.turns[name] { return turn }
            let turn = Turn()
            state.turns[name] = turn
            return turn
        }
        let result: Result<OpenFamily, HostError> = turn.lock.withLock { _ in
            if let family = openFamily(name) { return .success(family) }
            do throws(HostError) {
                guard !state.withLock({ $0.isClosed }) else { throw .cancelled }
                let family = OpenFamily(try make(name, host))
                let isLate = state.withLock { state in
                    if !state.isClosed { state.families.append((name, family)) }
                    return state.isClosed
                }
                guard isLate else { return .success(family) }
                _ = family.close(until: .max)
                throw .cancelled
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func make(_ family: String, _ host: any ProviderHost) throws(HostError) -> any Provider {
        guard let entry = registry.snapshot.entry(family), let descriptor = entry.descriptor else {
            throw unknown(family)
        }
        return try open(descriptor, host)
    }

    /// The error for an operation that nobody serves, with the nearest one that is served.
    func unknown(_ operation: String) -> HostError {
        let snapshot = registry.snapshot
        let family = String(operation.prefix { $0 != "." })
        if let entry = snapshot.entry(family), !entry.isCallable, let error = entry.error { return error }
        let names = snapshot.entries.filter(\.isCallable).compactMap(\.descriptor).flatMap {
            $0.operations.map(\.fullName)
        }
        let nearest = Suggestion.nearest(to: operation, among: names)
        let hint = nearest.map { " Did you mean \($0)?" } ?? ""
        return HostError(
            "host.operation_unknown", "There is no operation \(operation).\(hint)",
            details: ["operation": .string(operation), "suggestion": nearest.map { .string($0) } ?? .null])
    }

    /// Closes every provider, and opens none any more.
    ///
    /// - Returns: families that somebody was still inside at `limit`; they are not closed.
    func close(until limit: Int64) -> [String] {
        let open = state.withLock { state in
            defer { state.families = [] }
            state.isClosed = true
            return state.families
        }
        return open.filter { !$0.family.close(until: limit) }.map(\.name).sorted()
    }
}

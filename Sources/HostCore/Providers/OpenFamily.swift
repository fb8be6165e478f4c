internal import ApsuleKit
internal import Glibc
internal import Synchronization

/// An open provider, and how many threads are inside it: it is closed only when none is, as the plugin ABI promises.
final class OpenFamily: Sendable {
    let provider: any Provider
    let answersInline: Bool
    private let operations: [String]
    private let inside = Atomic<Int>(0)
    private static let closing = 1 << 62

    init(_ provider: any Provider) {
        self.provider = provider
        (operations, answersInline) = (provider.operations, provider.answersInline)
    }

    /// The position of an operation in `provider.operations`.
    ///
    /// A family has so few that looking through them takes less time than hashing a name.
    func index(of operation: String) -> Int? { operations.firstIndex { JSON.same($0, operation) } }

    /// Runs `body` in the provider; nil once it is being closed.
    func enter<R>(_ body: (any Provider) -> R) -> R? {
        let before = inside.add(1, ordering: .acquiring).oldValue
        defer { inside.subtract(1, ordering: .releasing) }
        return before & Self.closing == 0 ? body(provider) : nil
    }

    /// Lets nobody in any more, waits for those who are inside, and closes the provider.
    ///
    /// - Returns: false where somebody was inside until `limit`; the provider is left as it is then.
    func close(until limit: Int64) -> Bool {
        inside.bitwiseOr(Self.closing, ordering: .acquiringAndReleasing)
        while inside.load(ordering: .acquiring) != Self.closing {
            guard Clock.now < limit else { return false }
            usleep(500)
        }
        provider.close()
        return true
    }
}

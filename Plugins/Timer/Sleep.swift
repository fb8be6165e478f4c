import ApsuleKit

extension TimerFamily {
    /// Waits.
    ///
    /// - Parameter call: `{ms: number}` (milliseconds, 0 to 2147483647).
    /// - Returns: null.
    /// - Throws: `host.cancelled`.
    /// - Source: <https://developer.apple.com/documentation/swift/task/sleep(for:tolerance:clock:)>
    func sleep(_ call: Call) async throws -> JSON {
        let milliseconds: Double = try call["ms"]
        try await Task.sleep(for: .nanoseconds(Int64(milliseconds * 1_000_000)))
        return .null
    }
}

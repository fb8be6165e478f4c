import Synchronization

/// What arrived so far, for handlers that run on other threads.
public final class Received<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    public init() {}
    public func append(_ element: Element) { elements.withLock { $0.append(element) } }
    public var all: [Element] { elements.withLock { $0 } }

    /// Waits until `condition` holds for what arrived, and gives that; what is there after the time, otherwise.
    @discardableResult
    public func wait(
        _ time: Duration = .seconds(10), until condition: ([Element]) -> Bool = { !$0.isEmpty }
    ) async -> [Element] {
        await eventually(time) { condition(all) }
        return all
    }
}

/// Waits until `condition` holds, at most for `time`; says whether it held.
@discardableResult
public func eventually(_ time: Duration = .seconds(10), _ condition: () async -> Bool) async -> Bool {
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return await condition()
}

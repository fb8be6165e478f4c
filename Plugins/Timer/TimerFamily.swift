import ApsuleKit
public import CApsule

/// `host.timer`: waiting without holding a thread.
final class TimerFamily: Family {
    static let name = "timer"

    static let operations: [Operation<TimerFamily>] = [
        .task("sleep", sleep)
    ]

    init(_ project: Project) {}
}

@c(apsule_plugin_timer)
public func entry() -> UnsafePointer<apsule_plugin>? { table }

// Immutable once made, and never freed.
nonisolated(unsafe) private let table = PluginTable.make(TimerFamily.self)

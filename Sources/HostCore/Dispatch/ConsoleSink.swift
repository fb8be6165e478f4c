public import ApsuleKit

/// Where log lines of plugins and scripts go.
public protocol ConsoleSink: AnyObject, Sendable {
    /// - Parameter source: a family, or `script`.
    func write(_ level: LogLevel, source: String, _ text: String)
}

internal import Glibc

/// The project that an instance serves.
public struct Project: Sendable {
    /// The project's id, as in its `app.json`.
    public let id: String
    /// The owner's settings for this family.
    public let settings: JSON
    let link: HostLink

    /// The family's private folder for this project, as a descriptor that the host owns.
    ///
    /// - Throws: `<family>.unavailable` where it cannot be made.
    public func dataDirectory() throws(HostError) -> Int32 {
        let result = link.dataDirectory()
        guard result < 0 else { return result }
        let reason = "The family's data folder cannot be opened: \(String(cString: strerror(-result)))."
        throw .unavailable(link.family, reason, fix: "Check the owner and mode of the data folder (apsule doctor).")
    }

    /// Writes a line to the project's console and log.
    public func log(_ level: LogLevel, _ message: String) { link.log(level, message) }
}

/// How much a log line matters.
public enum LogLevel: Int32, Sendable {
    case debug = 0
    case info = 1
    case warning = 2
    case error = 3
}

public import ApsuleKit
internal import Glibc
internal import Synchronization

/// Every family this host knows of, read from descriptors without running any plugin code.
public final class Registry: Sendable {
    public struct Entry: Sendable {
        public enum Status: String, Sendable { case unprobed, ready, unavailable, quarantined, invalid, crashed }

        public let family: String
        /// `host`, `bundled` or `third-party`.
        public let provider: String
        public let path: String
        public let descriptor: Descriptor?
        public var status: Status
        /// Why the family cannot be used.
        public var error: HostError?

        /// Whether it has proxies: valid and trusted, though perhaps not usable on this machine.
        public var isCallable: Bool { descriptor != nil && status != .quarantined && status != .invalid }
    }

    /// What is known at one time; never changes.
    public struct Snapshot: Sendable {
        public let entries: [Entry]
        private let index: [String: Int]

        init(_ entries: [Entry]) {
            self.entries = entries.sorted { ($0.family, $0.path) < ($1.family, $1.path) }
            var index: [String: Int] = [:]
            for (position, entry) in self.entries.enumerated() {
                // Of two with one name the callable one serves; both are listed.
                if let other = index[entry.family], self.entries[other].isCallable || !entry.isCallable { continue }
                index[entry.family] = position
            }
            self.index = index
        }

        public func entry(_ family: String) -> Entry? { index[family].map { entries[$0] } }
    }

    private let state: Mutex<Snapshot>
    private let folders: [PluginFolder]
    private let hostFamilies: [Descriptor]
    private let watchers = Mutex<[@Sendable (Snapshot) -> Void]>([])

    /// - Parameters:
    ///   - folders: where plugins lie, in the order in which they win.
    ///   - hostFamilies: the descriptors of families that the host serves itself.
    public init(folders: [PluginFolder], hostFamilies: [Descriptor]) {
        (self.folders, self.hostFamilies) = (folders, hostFamilies)
        state = Mutex(Snapshot(Self.read(folders, hostFamilies)))
    }

    public var snapshot: Snapshot { state.withLock { $0 } }

    /// Reads the folders again and tells who watches.
    public func refresh() {
        let fresh = Snapshot(Self.read(folders, hostFamilies))
        state.withLock { $0 = fresh }
        for watcher in watchers.withLock({ $0 }) { watcher(fresh) }
    }

    public func onChange(_ watcher: @escaping @Sendable (Snapshot) -> Void) { watchers.withLock { $0.append(watcher) } }

    /// Notes what a probe or a crash said of a family.
    public func mark(_ family: String, _ status: Entry.Status, _ error: HostError?) {
        let fresh = state.withLock { state -> Snapshot in
            var entries = state.entries
            for index in entries.indices where entries[index].family == family && entries[index].isCallable {
                entries[index].status = status
                entries[index].error = error
            }
            state = Snapshot(entries)
            return state
        }
        for watcher in watchers.withLock({ $0 }) { watcher(fresh) }
    }

    private static func read(_ folders: [PluginFolder], _ hostFamilies: [Descriptor]) -> [Entry] {
        var entries = hostFamilies.map {
            Entry(family: $0.family, provider: "host", path: "", descriptor: $0, status: .ready, error: nil)
        }
        var bundled = Set(hostFamilies.map(\.family))
        for folder in folders {
            for entry in folder.entries(taken: bundled) {
                if folder.isBundled, entry.descriptor != nil { bundled.insert(entry.family) }
                entries.append(entry)
            }
        }
        return entries
    }
}

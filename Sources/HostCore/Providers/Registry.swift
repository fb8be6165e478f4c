public import ApsuleKit
internal import Glibc
internal import Synchronization

/// Every family this host knows of, read from descriptors without running any plugin code when somebody first asks.
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
        /// The state of the file that the entry was read from; nil where there is none.
        var stamp: String?

        /// Whether it has proxies: valid and trusted, though perhaps not usable on this machine.
        public var isCallable: Bool { descriptor != nil && status != .quarantined && status != .invalid }

        /// What holds credentials, and what is not ours, gets memory of its own: it runs in a plugin-host.
        var isOwnProcess: Bool { provider == "third-party" || descriptor?.process == "own" }
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

        /// An operation that can be called, by its whole name.
        public func operation(_ name: String) -> OperationDescriptor? {
            guard let dot = name.firstIndex(of: "."), let entry = entry(String(name[..<dot])), entry.isCallable else {
                return nil
            }
            return entry.descriptor?.operation(String(name[name.index(after: dot)...]))
        }
    }

    /// nil until somebody asks.
    private let state = Mutex<Snapshot?>(nil)
    private let folders: [PluginFolder]
    private let hostFamilies: [Descriptor]
    private let watchers = Mutex<[@Sendable (Snapshot) -> Void]>([])
    private let watch = Mutex<FolderWatch?>(nil)
    /// One refresh at a time, and one telling: who watches hears of the newest state last.
    private let reading = Mutex(())
    private let telling = Mutex(())
    /// In a worker, which cannot see the folders of others: what its parent saw there.
    private let given = Mutex<[Entry]?>(nil)

    /// - Parameters:
    ///   - folders: where plugins lie, in the order in which they win.
    ///   - hostFamilies: the descriptors of families that the host serves itself.
    public init(folders: [PluginFolder], hostFamilies: [Descriptor]) {
        (self.folders, self.hostFamilies) = (folders, hostFamilies)
    }

    public var snapshot: Snapshot { withState { $0 } }

    /// The state, read now where it was not before.
    private func withState<R>(_ body: (inout Snapshot) -> R) -> R {
        state.withLock { state in
            var snapshot = state ?? Snapshot(Self.read(folders, hostFamilies))
            // Only one owner while it is changed.
            state = nil
            defer { state = snapshot }
            return body(&snapshot)
        }
    }

    /// Reads the folders again and tells who watches, where something has changed.
    ///
    /// What a probe or a crash said of a plugin holds until its file changes.
    public func refresh() {
        // A plugin that somebody is writing just now is left as it was.
        let unfinished = watch.withLock { $0?.unfinished ?? [] }
        let skipped = Set(unfinished.map { $0.folder + "/" + $0.name })
        let isChanged = reading.withLock { _ in
            let given = given.withLock { $0 }
            let own = given == nil ? folders : folders.filter(\.isBundled)
            let read = Self.read(own, hostFamilies) + (given ?? [])
            return state.withLock { state in
                let fresh = state?.carried(into: read, except: skipped) ?? Snapshot(read)
                defer { state = fresh }
                return state.map { !fresh.isSame(as: $0) } ?? false
            }
        }
        if isChanged { tell() }
    }

    /// Looks at the folders from now on: plugins that appear, change or go are read and told of.
    public func startWatching() {
        guard given.withLock({ $0 == nil }) else { return }
        let isNew = watch.withLock { watch in
            guard watch == nil else { return false }
            let paths = folders.flatMap { $0.isBundled ? [$0.path, $0.path + "/Manifests"] : [$0.path] }
            watch = FolderWatch(paths, for: .files) { [weak self] changes in
                let matters =
                    changes.isEmpty
                    || changes.contains { change in
                        change.name.isEmpty || change.name.hasSuffix(".so") || change.name.hasSuffix(".json")
                    }
                if matters { self?.refresh() }
            }
            return true
        }
        // What changed between the first reading and now.
        if isNew { refresh() }
    }

    /// Takes what the parent of this worker sees in folders that are closed here; it tells of changes too.
    ///
    /// - Parameter isFirst: nothing was read since; only what is given is new.
    public func follow(_ families: JSON?, isFirst: Bool = false) {
        let entries = (families?.arrayValue ?? []).compactMap(Entry.init(json:))
        given.withLock { $0 = entries }
        guard isFirst else { return refresh() }
        withState { state in
            guard !entries.isEmpty else { return }
            state = Snapshot(state.entries.filter { $0.provider != "third-party" } + entries)
        }
    }

    public func onChange(_ watcher: @escaping @Sendable (Snapshot) -> Void) { watchers.withLock { $0.append(watcher) } }

    private func tell() {
        telling.withLock { _ in
            let fresh = snapshot
            for watcher in watchers.withLock({ $0 }) { watcher(fresh) }
        }
    }

    /// Notes what a probe or a crash said of a family.
    public func mark(_ family: String, _ status: Entry.Status, _ error: HostError?) {
        withState { state in
            var entries = state.entries
            for index in entries.indices where entries[index].family == family && entries[index].isCallable {
                entries[index].status = status
                entries[index].error = error
            }
            state = Snapshot(entries)
        }
        tell()
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

internal import ApsuleKit
internal import CProcess
internal import Glibc
internal import Synchronization

/// Tells when the entries of folders change, from a thread of its own; ends when it is released.
///
/// A folder that is not there yet is waited for, and one that goes is waited for again.
///
/// Source: <https://man7.org/linux/man-pages/man7/inotify.7.html>
final class FolderWatch: Sendable {
    /// What counts as a change.
    enum Kind: Sendable {
        /// A whole file: written and closed, moved in or out, linked, deleted, given to others.
        case files
        /// Every write.
        case writes
    }

    struct Change: Hashable, Sendable {
        let folder: String
        /// Empty: the folder itself, or more than could be followed.
        let name: String
    }

    private let loop: FolderWatchLoop

    /// - Parameters:
    ///   - tick: milliseconds after which `handler` is called with nothing, so that it looks for itself; nil: never,
    ///     unless the system gives no notice of changes.
    ///   - handler: called with what changed, after it has been quiet for a moment.
    init(_ folders: [String], for kind: Kind, tick: Int32? = nil, handler: @escaping @Sendable (Set<Change>) -> Void) {
        loop = FolderWatchLoop(folders, kind, tick: tick, handler)
        Thread.start(name: "apsule.folders") { [loop] in loop.run() }
    }

    deinit { loop.stop() }

    /// Files that somebody is writing just now.
    var unfinished: Set<Change> { loop.unfinished.withLock { $0 } }
}

/// The thread's side.
///
/// `@unchecked Sendable`: what is not behind a Mutex is used by the thread alone, but `wake`, which never changes.
private final class FolderWatchLoop: @unchecked Sendable {
    let unfinished = Mutex<Set<FolderWatch.Change>>([])
    private let handler: @Sendable (Set<FolderWatch.Change>) -> Void
    private let tick: Int32
    private let wake = process_event()
    private let isStopped = Atomic(false)
    private var folders: WatchedFolders
    private var changes: Set<FolderWatch.Change> = []

    /// A burst of changes is told as one: after this many milliseconds of quiet, and at the latest after the second.
    private static let quiet: Int32 = 5
    private static let longest: Int64 = 25
    /// How often to look where nothing gives notice.
    private static let blindTick: Int32 = 500

    init(
        _ paths: [String], _ kind: FolderWatch.Kind, tick: Int32?,
        _ handler: @escaping @Sendable (Set<FolderWatch.Change>) -> Void
    ) {
        self.handler = handler
        folders = WatchedFolders(paths, kind)
        // Armed before the first look of whoever made it, so that nothing falls between the two.
        folders.arm()
        self.tick = tick ?? (folders.isBlind ? Self.blindTick : -1)
    }

    deinit { close(wake) }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        var one: UInt64 = 1
        _ = write(wake, &one, MemoryLayout.size(ofValue: one))
    }

    func run() {
        var first: Int64?
        while !isStopped.load(ordering: .acquiring) {
            var polled = [
                pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
                pollfd(fd: folders.notices, events: Int16(POLLIN), revents: 0),
            ]
            let ready = poll(&polled, 2, first == nil ? tick : Self.quiet)
            if isStopped.load(ordering: .acquiring) { return }
            if ready > 0, polled[1].revents != 0 {
                unfinished.withLock { folders.read(&changes, &$0) }
                if first == nil, !changes.isEmpty { first = Clock.now }
            } else if ready == 0, first == nil {
                handler([])
            }
            guard let begin = first, ready == 0 || Clock.now - begin >= Self.longest else { continue }
            let told = changes
            (changes, first) = ([], nil)
            handler(told)
        }
    }
}

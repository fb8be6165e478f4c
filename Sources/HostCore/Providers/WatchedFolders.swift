internal import Glibc

/// The folders of a `FolderWatch` and their inotify watches: on the folder, or, while it is missing, on the nearest
/// folder above.
struct WatchedFolders: ~Copyable {
    /// The inotify descriptor; -1 where the system gives none.
    let notices: Int32
    /// Whether some folder cannot be watched.
    private(set) var isBlind: Bool
    private let paths: [String]
    private let mask: UInt32
    private let kind: FolderWatch.Kind
    private var places: [Int32: [Place]] = [:]

    /// What one watch is for: a folder itself, or the entry above it that has to appear.
    private struct Place: Hashable {
        let path: String
        let awaited: String?
    }

    private static let selfMask = UInt32(IN_DELETE_SELF | IN_MOVE_SELF)

    init(_ paths: [String], _ kind: FolderWatch.Kind) {
        self.paths = paths
        self.kind = kind
        notices = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        isBlind = notices < 0
        let files = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ATTRIB | IN_MODIFY
        mask = UInt32(files) | Self.selfMask
    }

    deinit { if notices >= 0 { close(notices) } }

    mutating func arm() {
        for path in paths { arm(path) }
    }

    /// Watches a folder, or what has to appear first.
    private mutating func arm(_ path: String) {
        // Each turn a folder may have appeared between the look and the watch.
        for _ in 0..<64 {
            var folder = path
            var awaited: String?
            while add(folder, Place(path: path, awaited: awaited)) == false {
                guard errno == ENOENT || errno == ENOTDIR, folder != "/", let slash = folder.lastIndex(of: "/") else {
                    isBlind = true
                    return
                }
                awaited = String(folder[folder.index(after: slash)...])
                folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
            }
            guard let awaited, access(folder + "/" + awaited, F_OK) == 0, !isFile(folder + "/" + awaited) else {
                return
            }
        }
    }

    private func isFile(_ path: String) -> Bool {
        var info = stat()
        return stat(path, &info) == 0 && info.st_mode & S_IFMT != S_IFDIR
    }

    private mutating func add(_ folder: String, _ place: Place) -> Bool {
        let wanted = place.awaited == nil ? mask : UInt32(IN_CREATE | IN_MOVED_TO) | Self.selfMask
        let watch = inotify_add_watch(notices, folder, wanted | UInt32(IN_ONLYDIR) | UInt32(IN_MASK_ADD))
        guard watch >= 0 else { return false }
        if places[watch]?.contains(place) != true { places[watch, default: []].append(place) }
        return true
    }

    /// Takes what there is to read.
    ///
    /// - Parameters:
    ///   - changes: gets what changed.
    ///   - unfinished: files that are being written; they change when they are closed.
    mutating func read(_ changes: inout Set<FolderWatch.Change>, _ unfinished: inout Set<FolderWatch.Change>) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(notices, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            var offset = 0
            let header = MemoryLayout<inotify_event>.size
            while offset + header <= count {
                let event = buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self) }
                let end = min(count, offset + header + Int(event.len))
                let name = String(decoding: buffer[(offset + header)..<end].prefix { $0 != 0 }, as: UTF8.self)
                take(event.wd, event.mask, name, &changes, &unfinished)
                offset = end
            }
        }
    }

    private mutating func take(
        _ watch: Int32, _ mask: UInt32, _ name: String, _ changes: inout Set<FolderWatch.Change>,
        _ unfinished: inout Set<FolderWatch.Change>
    ) {
        if mask & UInt32(IN_Q_OVERFLOW) != 0 {
            unfinished = []
            for path in paths { changes.insert(.init(folder: path, name: "")) }
            return
        }
        if mask & Self.selfMask | mask & UInt32(IN_IGNORED) != 0 { return lost(watch, mask, &changes, &unfinished) }
        for place in places[watch] ?? [] {
            if let awaited = place.awaited {
                guard awaited == name, mask & UInt32(IN_CREATE | IN_MOVED_TO) != 0 else { continue }
                places[watch]?.removeAll { $0 == place }
                arm(place.path)
                // It may have come with files in it.
                changes.insert(.init(folder: place.path, name: ""))
                continue
            }
            let change = FolderWatch.Change(folder: place.path, name: name)
            if kind == .files, mask & UInt32(IN_CREATE | IN_MODIFY) != 0, isBeingWritten(change, mask) {
                unfinished.insert(change)
            } else {
                unfinished.remove(change)
                changes.insert(change)
            }
        }
        release(watch)
    }

    /// Whether a file that was made or changed will say so once more when it is closed: not a link.
    private func isBeingWritten(_ change: FolderWatch.Change, _ mask: UInt32) -> Bool {
        if mask & UInt32(IN_MODIFY) != 0 { return true }
        var info = stat()
        guard lstat(change.folder + "/" + change.name, &info) == 0 else { return false }
        return info.st_mode & S_IFMT == S_IFREG && info.st_nlink == 1
    }

    /// A watched folder is gone, or is called something else now.
    private mutating func lost(
        _ watch: Int32, _ mask: UInt32, _ changes: inout Set<FolderWatch.Change>,
        _ unfinished: inout Set<FolderWatch.Change>
    ) {
        guard let lost = places.removeValue(forKey: watch) else { return }
        if mask & UInt32(IN_MOVE_SELF) != 0 { inotify_rm_watch(notices, watch) }
        for place in lost {
            unfinished = unfinished.filter { $0.folder != place.path }
            changes.insert(.init(folder: place.path, name: ""))
            arm(place.path)
        }
    }

    /// Drops a watch that waits for nothing any more.
    private mutating func release(_ watch: Int32) {
        guard places[watch]?.isEmpty == true else { return }
        places[watch] = nil
        inotify_rm_watch(notices, watch)
    }
}

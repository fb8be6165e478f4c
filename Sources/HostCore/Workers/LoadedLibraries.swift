internal import CHostCore

/// The libraries of this program, and their folders: what it starts needs them, too.
enum LoadedLibraries {
    /// Every folder once.
    static let folders: [String] = Set(
        files.compactMap { path in
            path.lastIndex(of: "/").map { String(path[..<$0]) }
        }
    ).sorted()

    /// What is loaded now, by absolute path.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/dl_iterate_phdr.3.html>
    static var files: [String] {
        var found: Set<String> = []
        withUnsafeMutablePointer(to: &found) { found in
            host_loaded_libraries(
                { context, name in
                    guard let context, let name else { return }
                    let path = String(cString: name)
                    guard path.hasPrefix("/") else { return }
                    context.assumingMemoryBound(to: Set<String>.self).pointee.insert(path)
                }, found)
        }
        return found.sorted()
    }
}

internal import CHostCore

/// The folders that this program's own libraries came from: a worker is the same program and needs the same.
enum LoadedLibraries {
    /// Every folder once.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/dl_iterate_phdr.3.html>
    static let folders: [String] = {
        var found: Set<String> = []
        withUnsafeMutablePointer(to: &found) { found in
            host_loaded_libraries(
                { context, name in
                    guard let context, let name else { return }
                    let path = String(cString: name)
                    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/") else { return }
                    context.assumingMemoryBound(to: Set<String>.self).pointee.insert(String(path[..<slash]))
                }, found)
        }
        return found.sorted()
    }()
}

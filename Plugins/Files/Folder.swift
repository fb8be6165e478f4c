import ApsuleKit
import Glibc

/// A name as the file system has it: any bytes but a slash, with a zero at the end.
typealias RawName = [CChar]

/// An open folder beneath the project's files.
struct Folder: ~Copyable {
    let descriptor: Int32
    /// For messages.
    let path: String
    private let call: Call

    /// Takes the descriptor over.
    init(adopting descriptor: Int32, _ path: String, _ call: Call) {
        (self.descriptor, self.path, self.call) = (descriptor, path, call)
    }

    deinit { close(descriptor) }

    /// Calls `body` with each name but `.` and `..`, in no order.
    ///
    /// - Throws: `files.file_error`, and what `body` throws.
    func forEachName(_ body: (UnsafePointer<CChar>) throws(HostError) -> Void) throws(HostError) {
        // A description of its own, since reading moves its position.
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { throw error(errno: errno) }
        guard let stream = fdopendir(copy) else {
            close(copy)
            throw error(errno: errno)
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw error(errno: errno) }
                return
            }
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return }
            let name = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
            if strcmp(name, ".") != 0, strcmp(name, "..") != 0 { try body(name) }
        }
    }

    func names() throws(HostError) -> [RawName] {
        var names: [RawName] = []
        try forEachName { name in names.append(RawName(UnsafeBufferPointer(start: name, count: strlen(name) + 1))) }
        return names
    }

    /// What a name stands for, links not followed; nil where it is gone.
    func status(_ name: RawName) -> stat? {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    /// A folder in this one.
    func folder(_ name: RawName) throws(HostError) -> Folder {
        let descriptor = openat(self.descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw error(name, errno: errno) }
        return Folder(adopting: descriptor, "\(path)/\(text(name))", call)
    }

    func error(_ name: RawName? = nil, errno code: Int32) -> HostError {
        call.fileError(name.map { "\(path)/\(text($0))" } ?? path, errno: code)
    }
}

/// A name as text; bytes that are no UTF-8 become U+FFFD.
func text(_ name: RawName) -> String { String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }

extension stat {
    var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
    var isFile: Bool { st_mode & S_IFMT == S_IFREG }

    func isSame(as other: stat) -> Bool { st_dev == other.st_dev && st_ino == other.st_ino }
}

extension FilePlace {
    /// What is there, links not followed; nil for nothing.
    var status: stat? {
        var status = stat()
        return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }
}

extension FilesFamily {
    /// Opens a folder.
    ///
    /// - Parameter otherwise: the reason where it is something else.
    func openFolder(_ call: Call, _ path: String, otherwise: String = "not_a_directory") throws(HostError) -> Folder {
        do throws(HostError) {
            return Folder(adopting: try call.open(path, flags: O_RDONLY | O_DIRECTORY), path, call)
        } catch {
            // The kernel has one answer for a file and for what is beneath one.
            guard error.code == "files.not_found", let place = try? FilePlace(call, path), place.status != nil else {
                throw error
            }
            throw HostError("files.\(otherwise)", "\(path): is not a folder", details: ["path": .string(path)])
        }
    }
}

import ApsuleKit
import Glibc

/// How much memory a process uses for itself.
enum ProcessMemory {
    /// Megabytes of resident memory that it shares with nobody; 0 where that cannot be read.
    ///
    /// Source: <https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html>
    static func privateMB(_ process: Int32) -> Int {
        guard let bytes = try? FileReader.read("/proc/\(process)/statm") else { return 0 }
        let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        guard fields.count > 2 else { return 0 }
        return (fields[1] - fields[2]) * sysconf(Int32(_SC_PAGESIZE)) / (1 << 20)
    }
}

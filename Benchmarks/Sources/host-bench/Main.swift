import ApsuleKit
import Glibc
import HostCore

/// `host-bench gate STATE SAMPLES`, `host-bench discover FOLDER`: what is measured inside the host, as one JSON line.
@main
enum Main {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        do throws(HostError) {
            switch words.first {
            case "gate" where words.count == 3:
                print(try GateTax(state: words[2]).measure(samples: Int(words[3]) ?? 100).text)
            case "discover" where words.count == 2: print(Discover.measure(words[2]).text)
            default:
                print("usage: host-bench gate STATE SAMPLES | discover FOLDER")
                exit(2)
            }
        } catch {
            print("\(error.code): \(error.message)")
            exit(1)
        }
    }

    /// Nanoseconds of the monotonic clock.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// How long it takes to know every family of a folder.
enum Discover {
    static func measure(_ folder: String) -> JSON {
        let start = Main.now
        let registry = Registry(folders: [PluginFolder(path: folder, isBundled: true)], hostFamilies: [])
        let time = Main.now - start
        let known = registry.snapshot.entries.filter { $0.descriptor != nil }
        let operations = known.reduce(0) { $0 + ($1.descriptor?.operations.count ?? 0) }
        return [
            "families": .int(Int64(known.count)), "operations": .int(Int64(operations)), "nanoseconds": .int(time),
            "refused": .array(registry.snapshot.entries.compactMap(\.error).prefix(3).map { .string($0.message) }),
        ]
    }
}

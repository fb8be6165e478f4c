import ApsuleKit
import Glibc
import Testing

@testable import HostCore

/// A recording in a folder of its own: made by a host, played by another.
final class TapeBench: Sendable {
    let folder: TemporaryFolder
    let problems = Kept<HostError>()
    var path: String { folder.path + "/run.jsonl" }

    init() throws { folder = try TemporaryFolder() }

    func recorder() throws -> Tape {
        .record(CallRecorder(try RecordingFile.create(path)) { [problems] in problems.append($0) })
    }

    func recording() throws -> Recording { try RecordingFile.read(try RecordingFile.open(path), path) }

    func player(speed: Double = .infinity) throws -> FakeHost {
        let host = try FakeHost(tape: .replay(try recording(), speed: speed))
        for operation in host.provider.operations {
            host.provider.on(operation) { _ in Issue.record("the live provider was called") }
        }
        return host
    }

    var lines: [JSON] {
        get throws {
            let bytes = try FileReader.read(path)
            return try bytes.split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: Array($0)) }
        }
    }

    /// A recording written by hand: each line gets the call it belongs to and its time.
    func write(_ lines: [String]) throws {
        let header = #"{"apsule":"recording","version":1}"#
        try folder.write("run.jsonl", ([header] + lines).map { $0 + "\n" }.joined())
    }
}

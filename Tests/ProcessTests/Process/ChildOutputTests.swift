import ApsuleKit
import Foundation
import Synchronization
import TestPrograms
import Testing

@testable import HostCore

/// What children write reaches this process line by line, and the terminal only through it.
struct ChildOutputTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func append(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private func lines(of script: String) throws -> [String] {
        let lines = Lines()
        let output = try ChildOutput { lines.append($0) }
        let child = try ChildProcess.start(
            ChildCommand("/bin/sh", ["-c", script], descriptors: [1: output.file, 2: output.file]))
        output.started()
        #expect(child.wait(milliseconds: 20_000) == .exited(0))
        output.wait(milliseconds: 20_000)
        return lines.all
    }

    @Test func comesLineByLine() throws {
        #expect(try lines(of: "echo one; echo two >&2; echo; printf 'no end'") == ["one", "two", "", "no end"])
        #expect(try lines(of: "true") == [])
        #expect(try lines(of: "printf 'a\\377b\\n'") == ["a\u{fffd}b"])
    }

    @Test func isBounded() throws {
        let found = try lines(of: "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo next")
        #expect(found.map(\.utf8.count) == [4_096, 4])
    }

    @Test func endsWithTheChild() throws {
        let lines = Lines()
        let output = try ChildOutput { lines.append($0) }
        let child = try ChildProcess.start(
            ChildCommand("/bin/sh", ["-c", "echo here; exec sleep 1000"], descriptors: [1: output.file]))
        output.started()
        let limit = ContinuousClock.now + .seconds(20)
        while lines.all.isEmpty, ContinuousClock.now < limit { usleep(1_000) }
        #expect(lines.all == ["here"])
        child.kill()
        output.wait(milliseconds: 20_000)
        #expect(child.wait(milliseconds: 20_000) == .signalled(SIGKILL))
    }
}

import ApsuleKit
import Foundation
import TestHost
import Testing

@Suite struct ReadingTests {
    let bench: FilesBench
    init() throws { bench = try FilesBench() }

    @Test func textComesBothWaysAndOtherBytesAsBase64() async throws {
        try bench.put("a", "grün")
        #expect(try await bench.call("read", ["path": "a"]) == ["size": 5, "text": "grün", "base64": "Z3LDvG4="])
        try bench.project.write("b", [0xff, 0x00])
        #expect(try await bench.call("read", ["path": "b"]) == ["size": 2, "base64": "/wA="])
        try bench.put("empty", "")
        #expect(try await bench.call("read", ["path": "empty"]) == ["size": 0, "text": "", "base64": ""])
    }

    @Test func oneFormIsAnsweredWhereItIsAskedFor() async throws {
        try bench.put("a", "text")
        #expect(try await bench.call("read", ["path": "a", "encoding": "text"]) == ["size": 4, "text": "text"])
        #expect(
            try await bench.call("read", ["path": "a", "encoding": "base64"]) == ["size": 4, "base64": "dGV4dA=="])
        let message = try await bench.host.start("read", ["path": "a", "encoding": "bytes"]).answer()
        #expect(message.json == ["size": 4, "bytes": ["$blob": 0]])
        #expect(message.blobs == [Array("text".utf8)])
        try bench.project.write("b", [0xff])
        #expect(await bench.refusal("read", ["path": "b", "encoding": "text"]) == "not_utf8")
    }

    @Test(arguments: [(0, 3, "abc"), (2, 2, "cd"), (5, 10, "f"), (6, 1, ""), (100, 1, ""), (0, 0, "")])
    func aRangeEndsWithTheFile(offset: Int, length: Int, text: String) async throws {
        try bench.put("a", "abcdef")
        let arguments: JSON = ["path": "a", "offset": .int(Int64(offset)), "length": .int(Int64(length))]
        let answer = try await bench.call("read", arguments)
        #expect(answer["text"] == .string(text))
        #expect(answer["size"] == 6)
    }

    @Test func aRangeThatCutsACharacterIsNoText() async throws {
        try bench.put("a", "aé")
        #expect(try await bench.call("read", ["path": "a", "length": 2]) == ["size": 3, "base64": "YcM="])
        #expect(try await bench.call("read", ["path": "a", "offset": 1])["text"] == "é")
    }

    @Test func whatDoesNotFitIntoAnAnswerSaysSo() async throws {
        // Each of these takes six bytes in JSON, and a third more than one in Base64.
        try bench.project.write("control", [UInt8](repeating: 1, count: 1_300_000))
        #expect(await bench.refusal("read", ["path": "control"]) == "too_large")
        let base64 = try await bench.call("read", ["path": "control", "encoding": "base64"])
        #expect(base64["base64"]?.stringValue?.utf8.count == 1_733_336)
        try bench.project.write("large", [UInt8](repeating: 65, count: 9 << 20))
        let error = await failure { try await bench.call("read", ["path": "large", "encoding": "text"]) }
        #expect(error?.code == "files.too_large")
        #expect(error?.details["size"] == .int(9 << 20))
        let message = try await bench.host.start("read", ["path": "large", "encoding": "bytes"]).answer()
        #expect(message.blobs.first?.count == 9 << 20)
        #expect(truncate("\(bench.root)/large", 65 << 20) == 0)
        #expect(await bench.refusal("read", ["path": "large", "encoding": "bytes"]) == "too_large")
        #expect(
            try await bench.call("read", ["path": "large", "offset": 68_157_430, "encoding": "base64"])
                == ["size": .int(65 << 20), "base64": "AAAAAAAAAAAAAA=="])
    }

    @Test func aLargeFileIsReadInRangesWithLittleMemory() async throws {
        let size = 100 << 20
        try bench.put("large", "")
        let handle = try #require(FileHandle(forWritingAtPath: bench.root + "/large"))
        for index in 0..<UInt8(100) { try handle.write(contentsOf: Data(repeating: index, count: 1 << 20)) }
        try handle.close()
        func arguments(_ index: Int) -> JSON {
            ["path": "large", "offset": .int(Int64(index << 20)), "length": 1_048_576, "encoding": "bytes"]
        }
        for index in stride(from: 0, to: 100, by: 9) {
            let message = try await bench.host.start("read", arguments(index)).answer()
            #expect(message.blobs == [[UInt8](repeating: UInt8(index), count: 1 << 20)])
        }
        // In a process of its own: other tests would raise the peak of this one.
        let process = try PluginProcess("files", bench.project)
        try await process.call("read", arguments(0))
        let before = try process.peakMemory
        for index in 0..<100 { #expect(try await process.call("read", arguments(index))["size"] == .int(Int64(size))) }
        #expect(try process.peakMemory - before < 8 << 10)
    }
}

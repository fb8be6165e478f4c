import ApsuleKit
import Testing

@testable import HostCore

struct FrameReaderTests {
    private func bytes(_ kind: UInt8, _ body: [UInt8], files: Int = 0) -> [UInt8] {
        FrameReader.header(kind: kind, bodySize: body.count, fileCount: files) + body
    }

    @Test func cutsFramesWhereverTheBytesAreSplit() throws {
        let stream = bytes(1, [1, 2, 3]) + bytes(2, []) + bytes(255, [9], files: 4)
        for first in 0...stream.count {
            var reader = FrameReader()
            var frames: [FrameReader.Piece] = []
            for part in [stream[..<first], stream[first...]] {
                reader.append(part)
                while let frame = try reader.next() { frames.append(frame) }
            }
            #expect(
                frames == [
                    .init(kind: 1, fileCount: 0, body: [1, 2, 3]), .init(kind: 2, fileCount: 0, body: []),
                    .init(kind: 255, fileCount: 4, body: [9]),
                ])
            #expect(reader.isAtBoundary)
        }
    }

    @Test func takesTheLargestBodyAndNoLarger() throws {
        let body = (0..<FrameReader.maximumBody).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var reader = FrameReader()
        reader.append(bytes(7, body))
        #expect(try reader.next()?.body == body)
        reader.append(FrameReader.header(kind: 7, bodySize: FrameReader.maximumBody + 1, fileCount: 0))
        #expect(throws: HostError.self) { try reader.next() }
        var other = FrameReader()
        other.append([0xff, 0xff, 0xff, 0xff, 1, 0])
        #expect(throws: HostError.self) { try other.next() }
        var crowded = FrameReader()
        crowded.append([0, 0, 0, 0, 1, 5])
        #expect(throws: HostError.self) { try crowded.next() }
    }

    @Test func answersGarbageWithFramesOrAnError() throws {
        var random = Random(seed: 20_261_130)
        for _ in 0..<500 {
            var reader = FrameReader()
            // Lengths that fit now and then, so that the parser gets further than the first header.
            var garbage = (0..<Int.random(in: 0...4_000, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            for index in stride(from: 1, to: garbage.count, by: 6) { garbage[index] = 0 }
            reader.append(garbage)
            var total = 0
            while let frame = try? reader.next() { total += frame.body.count + FrameReader.headerSize }
            #expect(total <= garbage.count)
        }
    }

    @Test func messagesOfAnyBytesDecodeOrFail() throws {
        var random = Random(seed: 7)
        for round in 0..<4_000 {
            let body = (0..<Int.random(in: 0...80, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random) & (round % 2 == 0 ? 0xff : 0x03)
            }
            let frame = Frame(UInt8.random(in: 0...14, using: &random), body)
            _ = try? PluginReport(frame)
            _ = try? PluginRequest(frame)
        }
    }

    /// Every message survives the way, and no shorter or longer body passes for it.
    @Test func messagesSurviveAndTheirPiecesDoNot() throws {
        let payload = Payload(json: Array("{\"a\":1}".utf8), blobs: [Blob([1, 2]), Blob([])])
        let error = HostError("music.failed", "No.", details: ["why": "x"])
        let reports: [PluginReport] = [
            .opened(operations: ["a", "b.c"]), .refused(error), .probed(["status": "ready"]), .reply(call: 7, payload),
            .reply(call: .max, nil), .fail(call: 1, error), .event(call: 2, name: "tick", payload), .end(call: 3, nil),
            .log(.warning, "grün"), .openPath(question: 1, call: 2, path: "a/b", flags: -1, mode: 0o644),
            .allows(question: 3, call: 4, scope: "hosts", value: "example.org"), .dataDirectory(question: 9), .closed,
        ]
        for report in reports {
            let frame = try report.frame()
            #expect(try PluginReport(frame).frame().body == frame.body, "\(report)")
            for length in 0..<frame.body.count {
                #expect(throws: HostError.self) { try PluginReport(Frame(frame.kind, Array(frame.body[..<length]))) }
            }
            #expect(throws: HostError.self) { try PluginReport(Frame(frame.kind, frame.body + [0])) }
        }
        let requests: [PluginRequest] = [
            .open(project: ["id": "x"]), .invoke(call: 1, operation: 2, isStream: true, payload), .cancel(call: 3),
            .grant(call: 4, events: 5, bytes: 6), .stop(call: 7), .answer(question: 8, -13, file: nil), .probe, .close,
        ]
        for request in requests {
            let frame = try request.frame()
            #expect(try PluginRequest(frame).frame().body == frame.body, "\(request)")
            for length in 0..<frame.body.count {
                #expect(throws: HostError.self) { try PluginRequest(Frame(frame.kind, Array(frame.body[..<length]))) }
            }
        }
    }
}

/// The same numbers on every run.
struct Random: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

import ApsuleKit
import Testing

@testable import SsePlugin

/// The format cases of the Web Platform Tests' eventsource folder, each cut at every byte.
///
/// Source: <https://github.com/web-platform-tests/wpt/tree/master/eventsource>
@Suite struct EventParserTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let stream: String
        var events: [ServerEvent]
        var lastID = ""
        var retry: Int64?
        var testDescription: String { name }

        init(_ name: String, _ stream: String, _ data: [String], lastID: String = "", retry: Int64? = nil) {
            self.init(
                name, stream, events: data.map { ServerEvent(data: $0, id: lastID) }, lastID: lastID, retry: retry)
        }

        init(_ name: String, _ stream: String, events: [ServerEvent], lastID: String = "", retry: Int64? = nil) {
            (self.name, self.stream, self.events, self.lastID, self.retry) = (name, stream, events, lastID, retry)
        }
    }

    static let long = String(repeating: "x", count: 2049)

    static let cases: [Case] = [
        .init("format-bom", "\u{feff}data:1\n\n\u{feff}data:2\n\ndata:3\n\n", ["1", "3"]),
        .init("format-bom-2", "\u{feff}\u{feff}data:1\n\ndata:2\n\ndata:3\n\n", ["2", "3"]),
        .init(
            "format-comments",
            "data:1\r:\0\n:\r\ndata:2\n:\(long)\rdata:3\n:data:fail\r:\(long)\ndata:4\n\n\n", ["1\n2\n3\n4"]),
        .init(
            "format-data-before-final-empty-line", "retry:1000\ndata:test1\n\nid:test\ndata:test2", ["test1"],
            retry: 1000),
        .init("format-field-data", "data:\n\ndata\ndata\n\ndata:test\n\n", ["", "\n", "test"]),
        .init("format-field-event-empty", "event: \ndata:data\n\n", ["data"]),
        .init(
            "format-field-event", "event:test\ndata:x\n\ndata:x\n\n",
            events: [.init(event: "test", data: "x", id: ""), .init(data: "x", id: "")]),
        .init("format-field-id", "retry:200\nid:1\ndata:hello\n\n", ["hello"], lastID: "1", retry: 200),
        .init(
            "format-field-id-2", "id\ndata:a\n\nid:1\ndata:b\n\nid\ndata:c\n\nid:\ndata:d\n\ndata:e\n\n",
            events: [
                .init(data: "a", id: ""), .init(data: "b", id: "1"), .init(data: "c", id: ""), .init(data: "d", id: ""),
                .init(data: "e", id: ""),
            ]),
        .init("format-field-id-null", "id:\0\ndata:a\n\n", ["a"]),
        .init("format-field-id-null, in it", "id:a\0b\nid:c\0\ndata:a\n\n", ["a"]),
        .init("an id without data counts", "id:7\n\n", [], lastID: "7"),
        .init(
            "format-field-parsing",
            "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n",
            ["\0\n 2\n1\n3\n\n4"]),
        .init("format-field-retry", "retry:3000\ndata:x\n\n", ["x"], retry: 3000),
        .init("format-field-retry-bogus", "retry:3000\nretry:1000x\ndata:x\n\n", ["x"], retry: 3000),
        .init("format-field-retry-empty", "retry\ndata:test\n\n", ["test"]),
        .init("retry beyond 64 bits", "retry:99999999999999999999\n", [], retry: .max),
        .init(
            "format-field-unknown",
            "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n", ["test\n\ntest"]),
        .init("format-leading-space", "data:\ttest\rdata: \ndata:test\n\n", ["\ttest\n\ntest"]),
        .init("format-newlines", "data:test\r\ndata\ndata:test\r\n\r", ["test\n\ntest"]),
        .init(
            "format-newlines, all of them", "data:1\r\rdata:2\n\ndata:3\r\n\r\ndata:4\r\n\ndata:5\n\r\n",
            ["1", "2", "3", "4", "5"]),
        .init("format-null-character", "data:\0\n\n\n\n", ["\0"]),
        .init("format-utf-8", "data:ok…\n\n", ["ok…"]),
        .init(
            "event-data",
            "data:msg\ndata: msg\n\n:\nfalsefield:msg\n\nfalsefield:msg\nData:data\n\ndata\n\ndata:end\n\n",
            ["msg\nmsg", "", "end"]),
        .init("nothing", "", []),
        .init("without an end", "data:test", []),
    ]

    @Test(arguments: cases) func streams(_ item: Case) throws {
        let bytes = Array(item.stream.utf8)
        #expect(try parse([bytes]) == (item.events, item.lastID, item.retry), "in one piece")
        #expect(try parse(bytes.map { [$0] }) == (item.events, item.lastID, item.retry), "byte by byte")
        for cut in bytes.indices.dropFirst() where cut < 300 {
            let pieces = [Array(bytes[..<cut]), Array(bytes[cut...])]
            #expect(try parse(pieces) == (item.events, item.lastID, item.retry), "cut at \(cut)")
        }
    }

    @Test func whatIsNoUTF8IsReplaced() throws {
        let (events, id, _) = try parse([
            [0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xc3, 0x0a, 0x69, 0x64, 0x3a, 0xe2, 0x82, 0x0a, 0x0a]
        ])
        #expect(events.map(\.data) == ["\u{fffd}\u{fffd}"] && id == "\u{fffd}")
    }

    @Test func theLastIDOfAnEarlierStreamHolds() throws {
        #expect(try parse([Array("data:a\n\n".utf8)], lastID: "41").0 == [ServerEvent(data: "a", id: "41")])
    }

    @Test func anEventHasItsLimit() throws {
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1024 * 1024)
        let lines = ["data:", "\ndata:", "\n:"].flatMap { [Array($0.utf8), piece] }
        #expect(try parse(lines).0 == [])
        let error = #expect(throws: HostError.self) { try parse(lines + [piece, piece]) }
        #expect(error?.code == "sse.event_too_large")
    }

    private func parse(_ pieces: [[UInt8]], lastID: String = "") throws -> ([ServerEvent], String, Int64?) {
        var parser = EventParser(lastID: lastID)
        var events: [ServerEvent] = []
        for piece in pieces {
            var problem: HostError?
            piece.withUnsafeBytes { bytes in
                do throws(HostError) { try parser.take(bytes) { events.append($0) } } catch { problem = error }
            }
            if let problem { throw problem }
        }
        return (events, parser.lastID, parser.retry)
    }
}
